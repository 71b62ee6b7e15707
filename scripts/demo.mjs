// The main job, end to end, with the built program: start the sandbox, upload a real clip, wait
// until it is ready, list it, resolve what to play. Everything stays in .demo/; the sandbox goes on
// running so that the URL can be opened. `npm run demo -- stop` ends it and removes the folder.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const home = join(root, '.demo');
const clip = 'test/fixtures/clip.mp4';

const { MEDIACTL_API_KEY, MEDIACTL_BASE_URL, MEDIACTL_PROFILE, ...inherited } = process.env;
const env = {
  ...inherited,
  MEDIACTL_CONFIG_DIR: join(home, 'config'),
  MEDIACTL_STATE_DIR: join(home, 'state'),
  MEDIACTL_KEY_STORE: 'file',
};

function mediactl(args) {
  process.stdout.write(`\n$ mediactl ${args.join(' ')}\n`);
  const { status } = spawnSync(process.execPath, ['bin/mediactl.js', ...args], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (process.argv.includes('stop')) {
  mediactl(['sandbox', 'stop']);
  rmSync(home, { recursive: true, force: true });
} else {
  mediactl(['sandbox', 'start', '--port', '0']);
  mediactl(['upload', clip, '--wait']);
  mediactl(['assets', 'ls']);
  mediactl(['play', '@last', '--check']);
  mediactl(['play', '@last', '--url']);
  mediactl(['sandbox', 'watch', '@last']);
  process.stdout.write(
    '\nThe first URL plays in VLC, mpv, Safari or ffplay, the second one in any browser, for four\nhours. Stop: npm run demo -- stop\n',
  );
}
