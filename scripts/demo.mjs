// Demonstrates the main workflow with the built program: starts the sandbox, uploads a clip, waits until it
// is ready, lists it, prints its playback URL. All files are in .demo/; the sandbox keeps running so that
// the URL can be opened. `npm run demo -- stop` stops it and removes the folder.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const home = process.env.MEDIACTL_DEMO_DIR ?? join(root, '.demo'); // overridden by its test
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
  mediactl(['sandbox', 'start', '--port', '0', '--quiet']); // its hints assume a default profile
  mediactl(['upload', clip, '--wait']);
  mediactl(['assets', 'ls']);
  mediactl(['play', '@last', '--check']);
  mediactl(['play', '@last', '--url']);
  mediactl(['sandbox', 'watch', '@last']);
  process.stdout.write(`
The m3u8 address plays in VLC, mpv, Safari or ffplay, the watch page in a
browser, both for four hours. The demo keeps its account in a folder of its own.
To type commands to it:

  export MEDIACTL_CONFIG_DIR='${env.MEDIACTL_CONFIG_DIR}'
  export MEDIACTL_STATE_DIR='${env.MEDIACTL_STATE_DIR}'
  npx mediactl upload ./test/fixtures/tone.mp3 --wait
  npx mediactl ls
  npx mediactl play @last --check
  npx mediactl browse

Stop: npm run demo -- stop
`);
}
