// Demonstrates the main workflow: starts the sandbox, uploads a clip, waits until it is ready, lists it, prints its
// playback URL. All files are in .demo/; the sandbox keeps running so that the URL can be opened. `npm run demo` builds
// the program first; `npm run demo -- stop` builds nothing, stops the sandbox and removes the folder.
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const home = process.env.MEDIACTL_DEMO_DIR ?? join(root, '.demo'); // overridden by its test
const clip = 'test/fixtures/clip.mp4';
const columns = Math.min(process.stdout.columns ?? 80, 80);

const { MEDIACTL_API_KEY, MEDIACTL_BASE_URL, MEDIACTL_PROFILE, ...inherited } = process.env;
const env = {
  ...inherited,
  MEDIACTL_CONFIG_DIR: join(home, 'config'),
  MEDIACTL_STATE_DIR: join(home, 'state'),
  MEDIACTL_KEY_STORE: 'file',
};

/** Wraps text at spaces to the width of the terminal. */
const wrap = (text) => text.replace(new RegExp(`(.{1,${columns}})(?: |$)`, 'g'), '$1\n');

/** Quotes a path for a shell, relative to the clone if possible, so that the line is short. */
const quotePath = (path) => (path.startsWith(root) ? `"$PWD/${path.slice(root.length)}"` : `'${path}'`);

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
  process.stdout.write('\nIf you exported the demo’s variables: unset MEDIACTL_CONFIG_DIR MEDIACTL_STATE_DIR\n');
} else {
  if (process.argv.includes('--build')) execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root });
  mediactl(['sandbox', 'start', '--port', '0', '--quiet']); // its hints assume a default profile
  mediactl(['upload', clip, '--wait']);
  mediactl(['ls']);
  mediactl(['play', '@last', '--probe']);
  mediactl(['play', '@last', '--url']);
  mediactl(['open', '@last']);
  process.stdout.write(`
${wrap('Open the m3u8 URL in VLC, mpv, Safari or ffplay, and the page in a browser. Both work for four hours.')}
${wrap('To try more commands in this demo, run:')}
  export MEDIACTL_CONFIG_DIR=${quotePath(env.MEDIACTL_CONFIG_DIR)}
  export MEDIACTL_STATE_DIR=${quotePath(env.MEDIACTL_STATE_DIR)}
  npx --no mediactl upload ./test/fixtures/tone.mp3 --wait
  npx --no mediactl ls
  npx --no mediactl play @last --probe
  npx --no mediactl browse

To stop the sandbox and delete the demo:

  npm run demo -- stop
`);
}
