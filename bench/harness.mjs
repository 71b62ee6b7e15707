// What the benchmarks share: processes timed as a whole, rounds in turn, medians, ratios.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
export const mediactl = here('../bin/mediactl.js');

let help;
/** Whether `mediactl upload` of this build has an option. */
export function uploadTakes(option) {
  help ??= spawnSync(process.execPath, [mediactl, 'upload', '--help'], { encoding: 'utf8' }).stdout;
  return new RegExp(`^ +(-\\w, )?${option}\\b`, 'm').test(help);
}

/** One of our own servers, in a process of its own. It prints its port. */
export async function serve(name, ...args) {
  const server = spawn(process.execPath, [here(name), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise((resolve) => server.stdout.once('data', resolve));
  return { port: Number(port), url: `http://127.0.0.1:${Number(port)}`, end: () => server.kill() };
}

/** CPU seconds of all children that have ended so far; of no use while several end at once. */
function cpuOfChildren() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15);
    return (Number(user) + Number(system)) / 100;
  } catch {
    return Number.NaN; // this is no Linux
  }
}

/**
 * Runs a process to its end. Seconds by the wall clock; CPU seconds, with those of its own children;
 * peak memory in MiB.
 */
export async function timed(command, args, options = {}) {
  const cpuBefore = cpuOfChildren();
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
    cpuSeconds: cpuOfChildren() - cpuBefore,
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
