// Measures the start-up time as a ratio to `node -e 0` in the same run. `node bench/startup.mjs [rounds]`
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { inTurn, median, say, sayMachine, timed } from './harness.mjs';

const rounds = Number(process.argv[2] ?? 21);
const bin = fileURLToPath(new URL('../bin/mediactl.js', import.meta.url));
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
});
server.close();
server.closeAllConnections();
sayMachine();
say(`${rounds} rounds in turn, medians`);
const bare = median(results.get('node -e 0').map(({ seconds }) => seconds));
for (const [name, runs] of results) {
  const seconds = median(runs.map((each) => each.seconds));
  say(`${name.padEnd(20)} ${(seconds * 1000).toFixed(0).padStart(5)} ms  ${(seconds / bare).toFixed(2)} of node -e 0`);
}
