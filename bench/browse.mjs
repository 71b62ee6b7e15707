// Time from the command to the first view of 5,000 assets in Debian's chromium, compared with a minimal page
// of the same records. `node bench/browse.mjs [rounds]`
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { inTurn, mediactl, median, say, sayMachine } from './harness.mjs';

const rounds = Number(process.argv[2] ?? 7);
const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));
const env = {
  ...process.env,
  MEDIACTL_CONFIG_DIR: join(folder, 'config'),
  MEDIACTL_STATE_DIR: join(folder, 'state'),
  MEDIACTL_KEY_STORE: 'file',
};
const run = (...args) => spawnSync(process.execPath, [mediactl, ...args], { env });
const start = ['sandbox', 'start', '--port', '0', '--seed', '5000', '--rate-limit', '100000/1h'];
const { url } = JSON.parse(run(...start, '--json').stdout);
const key = run('auth', 'token', '--show-token').stdout.toString().trim();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
});

/** Measures the seconds until a program prints its URL and until its page shows the first asset. */
async function firstView(...args) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise((resolve) => child.stdout.once('data', resolve));
  const toldAt = performance.now();
  await page.goto(String(address).trim());
  await page.locator('.thing').first().waitFor();
  const seenAt = performance.now();
  const cpu = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  child.kill();
  await context.close();
  return {
    told: (toldAt - startedAt) / 1000,
    seen: (seenAt - startedAt) / 1000,
    peakMiB: Number(/VmHWM:\s+(\d+)/.exec(cpu)?.[1] ?? 0) / 1024,
  };
}

const bare = fileURLToPath(new URL('bare-page.mjs', import.meta.url));
try {
  const results = await inTurn(rounds, {
    'a bare page': () => firstView(bare, url, key),
    'mediactl browse': () => firstView(mediactl, 'browse', '--no-open'),
  });
  sayMachine();
  say(`${rounds} rounds in turn, medians: address told, first asset seen, peak of the process`);
  const of = (name, field) => median(results.get(name).map((each) => each[field]));
  for (const name of results.keys()) {
    const [told, seen] = [of(name, 'told'), of(name, 'seen')];
    say(
      `${name.padEnd(16)} ${(told * 1000).toFixed(0).padStart(5)} ms ${(seen * 1000).toFixed(0).padStart(5)} ms  ${(seen / of('a bare page', 'seen')).toFixed(2)} of the bare page, ${of(name, 'peakMiB').toFixed(0)} MiB`,
    );
  }
} finally {
  await browser.close();
  run('sandbox', 'stop');
  rmSync(folder, { recursive: true, force: true });
}
