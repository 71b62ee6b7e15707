import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** Files that a reader has to open to follow a command or a request, at most. */
const limits: Record<string, number> = {
  'assets ls --json': 48,
  'upload clip.mp4': 75,
  'GET /assets/': 17,
  'POST /upload/': 17,
  'PATCH /upload/{uid}/': 15,
};

it('a command runs through few files', () => {
  const script = fileURLToPath(new URL('../../scripts/hops.mjs', import.meta.url));
  const lines = execFileSync(process.execPath, [script], { encoding: 'utf8' }).trimEnd().split('\n');
  const hops = lines.map((line) => /^ *(\d+) {2}(.*)$/.exec(line)?.slice(1) ?? []);
  expect(hops.map(([, trip]) => trip)).toEqual(Object.keys(limits));
  for (const [count, trip = ''] of hops) {
    const advice = `${trip}: join files that are only used together, or load one lazily; node scripts/hops.mjs --files lists them`;
    expect(Number(count), advice).toBeLessThanOrEqual(limits[trip] as number);
  }
});
