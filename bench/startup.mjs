// Measures the start-up time as a ratio to `node -e 0` in the same run, also of the executable if there is one.
// `node bench/startup.mjs [rounds]`
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { inTurn, median, say, sayMachine, timed } from './harness.mjs';

const rounds = Number(process.argv[2] ?? 21);
const bin = fileURLToPath(new URL('../bin/mediactl.js', import.meta.url));
const executable = fileURLToPath(new URL('../dist-executable/mediactl', import.meta.url));
const items = Array.from({ length: 20 }, (_, n) => ({
  uid: `uid-${n}`,
  name: `asset ${n}`,
  status: 'ready',
}));
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ items, count: 20 }));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const env = {
  ...process.env,
  MEDIACTL_API_KEY: 'bench-key',
  MEDIACTL_BASE_URL: `http://127.0.0.1:${server.address().port}`,
};
delete env.NODE_EXTRA_CA_CERTS; // it adds 37 ms to the start-up
const node = (...args) => timed(process.execPath, args, { env });

const results = await inTurn(rounds, {
  'node -e 0': () => node('-e', '0'),
  'mediactl --version': () => node(bin, '--version'),
  'mediactl assets ls': () => node(bin, 'assets', 'ls'),
  ...(existsSync(executable) && {
    'executable --version': () => timed(executable, ['--version'], { env }),
    'executable assets ls': () => timed(executable, ['assets', 'ls'], { env }),
  }),
});
server.close();
server.closeAllConnections();
sayMachine();
say(`${rounds} rounds in turn, median (minimum) as a ratio to node -e 0`);
const secondsOf = (name) => results.get(name).map(({ seconds }) => seconds);
const bare = { median: median(secondsOf('node -e 0')), min: Math.min(...secondsOf('node -e 0')) };
for (const name of results.keys()) {
  const seconds = { median: median(secondsOf(name)), min: Math.min(...secondsOf(name)) };
  const ratio = (which) => (seconds[which] / bare[which]).toFixed(2);
  say(`${name.padEnd(21)} ${(seconds.median * 1000).toFixed(0).padStart(5)} ms  ${ratio('median')} (${ratio('min')})`);
}
