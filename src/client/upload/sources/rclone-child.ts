import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { printable } from '../../../contract/sanitize.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { withoutKey } from '../../processes.ts';

export type RcloneTools = {
  /** What rclone is handed, but for our key; its PATH finds rclone. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Ends every rclone. */
  signal?: AbortSignal | undefined;
};

/** A server of one remote on the loopback, for whoever knows its password. */
export type RcloneServer = {
  url: URL;
  user: string;
  password: string;
  /** Aborts with a MediactlError once the server is no more. */
  ended: AbortSignal;
  close(): Promise<void>;
};

/** Of rclone's own variables, those that change what it prints, or whom its server lets in. */
const unfit =
  /^RCLONE_(?:LOG_.*|USE_JSON_LOG|VERBOSE|QUIET|SYSLOG.*|STATS.*|PROGRESS.*|RC|RC_.*|USER|PASS|HTPASSWD|BASEURL|CERT|KEY|CLIENT_CA|AUTH_PROXY|NO_MODTIME)$/;

/** Times as a listing tells them: the others cost a request a file (S3, Swift). */
const common = ['--use-server-modtime', '--ask-password=false'];
/** Milliseconds between being asked to end and being ended. */
const patienceMs = 2_000;

/**
 * What a command of rclone prints, a line at a time.
 *
 * @throws MediactlError as rclone fails, or what the signal aborts with
 */
export async function* rcloneLines(
  command: readonly string[],
  remote: string,
  tools: RcloneTools,
): AsyncGenerator<string> {
  const rclone = new Rclone(command, remote, 'pipe', tools);
  try {
    yield* createInterface({ input: rclone.child.stdout as Readable });
    const code = await rclone.ended;
    tools.signal?.throwIfAborted();
    if (code !== 0) throw rclone.failure(code);
  } finally {
    await rclone.end();
  }
}

/**
 * Starts the one server of a remote, and waits until it serves: WebDAV, which is read-only where that
 * is asked for, tells its port in every version (`serve http` of 1.60 does not), and vouches for a
 * file by an ETag.
 *
 * It ends with us, however we end: every two seconds it tells its statistics, and a write to a pipe
 * whose reader is gone ends a program (SIGPIPE). Windows has no such signal: a server stays behind
 * there after a kill, on the loopback alone, with a password that nobody knows any more.
 *
 * @param remote `REMOTE:PATH`
 * @throws MediactlError as rclone fails, or what the signal aborts with
 */
export async function serveRemote(remote: string, tools: RcloneTools): Promise<RcloneServer> {
  const [user, password] = [randomBytes(12).toString('hex'), randomBytes(24).toString('hex')];
  const rclone = new Rclone(
    [
      ...['serve', 'webdav', '--read-only', '--addr', '127.0.0.1:0'],
      ...['--stats', '2s', '--stats-one-line', '--stats-log-level', 'NOTICE'],
    ],
    remote,
    'ignore',
    tools,
    // Anybody may see the arguments of a program, and only its user the environment.
    { RCLONE_USER: user, RCLONE_PASS: password },
  );
  const stopped = new AbortController();
  const end = rclone.ended.then((code) => stopped.abort(rclone.failure(code)));
  const failed = end.catch((error) => stopped.abort(error));
  const address = await Promise.race([rclone.address, failed]);
  tools.signal?.throwIfAborted();
  if (!address) throw stopped.signal.reason;
  const url = new URL(address);
  return { url, user, password, ended: stopped.signal, close: () => rclone.end() };
}

/** One rclone under way. */
class Rclone {
  readonly child: ChildProcess;
  /** The exit code; null where a signal ended it. @throws MediactlError where there is no rclone */
  readonly ended: Promise<number | null>;
  /** Where it serves, once it does. */
  readonly address: Promise<string>;
  readonly #remote: string;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = () => void this.end();
  #lastWords = '';

  constructor(
    command: readonly string[],
    remote: string,
    stdout: 'pipe' | 'ignore',
    { environment, signal }: RcloneTools,
    own: Record<string, string> = {},
  ) {
    signal?.throwIfAborted();
    const fit = Object.entries(withoutKey(environment)).filter(([name]) => !unfit.test(name));
    this.child = spawn('rclone', [...command, ...common, '--', remote], {
      env: { ...Object.fromEntries(fit), ...own },
      stdio: ['ignore', stdout, 'pipe'],
    });
    this.ended = once(this.child, 'close').then(
      ([code]) => code,
      (error) => {
        throw notThere(error);
      },
    );
    this.ended.catch(() => {}); // looked at once its output is read
    this.address = this.#listen(this.child.stderr as Readable);
    this.#remote = remote;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#stop, { once: true });
  }

  /** stderr is read to its end: who does not read it would stop rclone. */
  #listen(stderr: Readable): Promise<string> {
    return new Promise((resolve) => {
      createInterface({ input: stderr }).on('line', (line) => {
        const address = /server started on \[?(http:\/\/127\.0\.0\.1:\d+\/)/i.exec(line)?.[1];
        if (address) resolve(address);
        // What it only mentions: statistics, a link that leads nowhere.
        else if (!/ NOTICE: /.test(line)) this.#lastWords = line;
      });
    });
  }

  /** Why it ended, in its own last words. */
  failure(code: number | null): MediactlError {
    const words = this.#lastWords.replace(/^[\d/]+ [\d:.]+ +(?:[A-Z]+ *: )?/, '').trim();
    const reason = printable(words) || `it ended with ${code ?? 'a signal'}`;
    // "3: directory not found, 4: file not found" (rclone's own exit codes).
    if (code === 3 || code === 4)
      return new MediactlError(`no such file: rclone:${this.#remote}`, {
        code: 'no_such_file',
        exitCode: exitCodes.usage,
        reason,
        hint: 'check the path: rclone lsf REMOTE:',
      });
    if (/didn't find section in config file/.test(words))
      return usageError(
        `no such remote: rclone:${this.#remote}`,
        'rclone listremotes lists them',
        reason,
      );
    return new MediactlError(`rclone does not read rclone:${this.#remote}`, {
      code: 'rclone_failed',
      exitCode: exitCodes.unreachable,
      reason,
      hint: 'try the remote with rclone itself: rclone lsf REMOTE:',
    });
  }

  /** Asks it to end, and ends it where it does not. What it started itself loses its pipes. */
  async end(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#stop);
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.child.kill('SIGKILL');
      for (const pipe of [this.child.stdout, this.child.stderr]) pipe?.destroy();
    }, patienceMs);
    await this.ended.catch(() => {}); // it never began
    clearTimeout(timer);
  }
}

function notThere(error: NodeJS.ErrnoException): unknown {
  if (error.code !== 'ENOENT' && error.code !== 'EACCES') return error;
  return usageError(
    'this machine has no rclone',
    'install it: https://rclone.org/install',
    'a remote is read by your own rclone, with its own settings',
  );
}
