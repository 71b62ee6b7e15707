// What the benchmarks share: processes timed as a whole, rounds in turn, medians, ratios.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/** Runs a process to its end. Seconds by the wall clock; peak memory in MiB. */
export async function timed(command, args, options = {}) {
  const startedAt = process.hrtime.bigint();
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options });
  let peakKiB = 0;
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peakKiB = Math.max(peakKiB, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // It has ended, or this is no Linux: then there is no figure.
    }
  }, 10);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearInterval(watch);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended ${code}`);
  return {
    seconds: Number(process.hrtime.bigint() - startedAt) / 1e9,
    peakMiB: peakKiB / 1024,
  };
}

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
};

/** Every contender once a round, round after round, so that noise falls on all alike. */
export async function inTurn(rounds, contenders) {
  const results = new Map(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const [name, run] of Object.entries(contenders)) results.get(name).push(await run());
  return results;
}

export function say(line = '') {
  process.stdout.write(`${line}\n`);
}

export function sayMachine() {
  say(`node ${process.version}, ${availableParallelism()} cores, ${cpus()[0]?.model.trim()}`);
}
