// Lists 10,000 assets from a service with 20 ms latency, compared with sequential pages (forced by a nearly
// exhausted rate limit); and measures the memory of --jsonl.
// `node bench/listing.mjs [rounds]`
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inTurn, median, say, sayMachine, timed } from './harness.mjs';

const rounds = Number(process.argv[2] ?? 5);
const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));

/** Serves a list of assets. @param remaining requests left, as reported in the rate limit headers */
async function serve(count, { latencyMs = 0, remaining = 100_000 } = {}) {
  const item = (n) => ({
    uid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    name: `Asset ${n}`,
    type: 'video',
    status: 'ready',
    duration: n,
    tags: ['made'],
    size: n * 1000,
    created_at: '2026-03-01T12:00:00Z',
  });
  const server = createServer((request, response) => {
    const query = new URL(request.url, 'http://localhost').searchParams;
    const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset'))];
    const length = Math.max(0, Math.min(limit, count - offset));
    const items = Array.from({ length }, (_, n) => item(offset + n));
    setTimeout(() => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'x-ratelimit-limit': 100_000,
        'x-ratelimit-remaining': remaining,
        'x-ratelimit-reset': Math.ceil(Date.now() / 1000) + 3600,
      });
      response.end(JSON.stringify({ items, count }));
    }, latencyMs);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const list = (...args) =>
    timed(process.execPath, ['bin/mediactl.js', 'assets', 'ls', '--all', ...args], {
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        MEDIACTL_API_KEY: 'a-key-of-this-benchmark',
        MEDIACTL_BASE_URL: `http://127.0.0.1:${server.address().port}`,
      },
    });
  return { list, close: () => server.close() };
}

sayMachine();
const [wide, narrow] = [await serve(10_000, { latencyMs: 20 }), await serve(10_000, { latencyMs: 20, remaining: 1 })];
const results = await inTurn(rounds, {
  'eight pages at once': () => wide.list('--json'),
  'one page after another': () => narrow.list('--json'),
});
const seconds = (name) => median(results.get(name).map((run) => run.seconds));
say(`10,000 assets at 20 ms an answer, --all --json, ${rounds} rounds in turn, medians`);
for (const name of results.keys())
  say(
    `${name.padEnd(24)}${seconds(name).toFixed(2)} s  ${(seconds(name) / seconds('one page after another')).toFixed(2)}`,
  );
wide.close();
narrow.close();

say('peak memory of --all --jsonl');
for (const count of [1_000, 10_000, 100_000]) {
  const service = await serve(count);
  const { peakMiB } = await service.list('--jsonl');
  say(`${String(count).padStart(7)} assets  ${Math.round(peakMiB)} MiB`);
  service.close();
}
rmSync(folder, { recursive: true, force: true });
