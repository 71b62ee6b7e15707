// Benchmark utilities: timing of whole processes, interleaved rounds, medians, ratios.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
export const mediactl = here('../bin/mediactl.js');

let help;
/** Returns true if `mediactl upload` of this build has an option. */
export function uploadTakes(option) {
  help ??= spawnSync(process.execPath, [mediactl, 'upload', '--help'], { encoding: 'utf8' }).stdout;
  return new RegExp(`^ +(-\\w, )?${option}\\b`, 'm').test(help);
}

/** Starts one of our own servers in a separate process, which prints its port. */
export async function serve(name, ...args) {
  const server = spawn(process.execPath, [here(name), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise((resolve) => server.stdout.once('data', resolve));
  return { port: Number(port), url: `http://127.0.0.1:${Number(port)}`, end: () => server.kill() };
}

/** Returns the CPU seconds of all exited children; meaningless while several run concurrently. */
function cpuOfChildren() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15);
    return (Number(user) + Number(system)) / 100;
  } catch {
    return Number.NaN; // not Linux
  }
}

/**
 * Runs a process to its end and returns wall-clock seconds, CPU seconds (including its children) and peak
 * memory in MiB.
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
      // The process has exited, or this is not Linux: no measurement.
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

/** Runs every contender once per round, so that noise affects all of them equally. */
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
