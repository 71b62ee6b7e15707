// A Redis of its own for a benchmark of queues.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns the CPU seconds of a process. */
export function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts a separate Redis. `cpuSeconds` returns the CPU seconds that it has used. */
export async function startStore(folder) {
  const port = String(await freePort());
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes'];
  const server = spawn('redis-server', args, { stdio: 'ignore' });
  while (spawnSync('redis-cli', ['-p', port, 'ping']).status !== 0) await sleep(50);
  return { address: `redis://127.0.0.1:${port}`, cpuSeconds: () => cpuOf(server.pid), end: () => server.kill() };
}
