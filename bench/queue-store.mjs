// A Redis or PostgreSQL of its own for a benchmark of queues.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns the CPU seconds of a process and, if asked for, of its exited children. */
export function cpuOf(pid, withChildren = false) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, withChildren ? 15 : 13);
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts a separate Redis or PostgreSQL. `cpuSeconds` returns the CPU seconds that it has used. */
export async function startStore(kind, folder) {
  const port = await freePort();
  if (kind === 'redis') {
    const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const server = spawn('redis-server', [...args, '--appendonly', 'yes'].map(String), {
      stdio: 'ignore',
    });
    while (spawnSync('redis-cli', ['-p', String(port), 'ping']).status !== 0) await sleep(50);
    return { address: `redis://127.0.0.1:${port}`, cpuSeconds: () => cpuOf(server.pid), end: () => server.kill() };
  }
  const bin = execFileSync('sh', ['-c', 'ls -d /usr/lib/postgresql/*/bin | tail -1']).toString().trim();
  const data = mkdtempSync(join(tmpdir(), 'mediactl-bench-postgres-'));
  const as = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}; // initdb refuses root
  if (as.uid) chownSync(data, as.uid, as.gid);
  const how = { ...as, cwd: data, stdio: 'ignore' };
  execFileSync(`${bin}/initdb`, ['-D', `${data}/d`, '-U', 'bench', '-A', 'trust'], how);
  const args = ['-D', `${data}/d`, '-p', String(port), '-h', '127.0.0.1', '-k', data];
  const server = spawn(`${bin}/postgres`, args, how);
  while (spawnSync(`${bin}/pg_isready`, ['-h', '127.0.0.1', '-p', String(port)]).status !== 0) await sleep(50);
  return {
    address: `postgres://bench@127.0.0.1:${port}/postgres`,
    cpuSeconds: () => {
      const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
      return children.reduce((sum, pid) => sum + cpuOf(pid), cpuOf(server.pid, true));
    },
    end: () => {
      server.kill('SIGQUIT');
      rmSync(data, { recursive: true, force: true });
    },
  };
}
