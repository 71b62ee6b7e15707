import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { withTimeout } from '../../../shared/retry.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { CodedError, usageError } from '../../errors.ts';
import { withoutSecrets } from '../../processes.ts';
import { basicAuth } from './source-url.ts';

export type RcloneDeps = {
  /** Environment variables passed to rclone, except the API key. Their PATH locates rclone. */
  environment: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal | undefined;
};

/** Password-protected server for one remote, on the loopback interface. */
export type RcloneServer = {
  url: URL;
  headers: { authorization: string };
  /** Aborts with a CodedError when the server exits. */
  ended: AbortSignal;
  close(): Promise<void>;
};

/** Matches environment variables not passed to rclone, since they would change its output or authentication. */
const removedVariables =
  /^RCLONE_(?:LOG_.*|USE_JSON_LOG|VERBOSE|QUIET|SYSLOG.*|STATS.*|PROGRESS.*|RC|RC_.*|USER|PASS|HTPASSWD|BASEURL|CERT|KEY|CLIENT_CA|AUTH_PROXY|NO_MODTIME)$/;

/** Flags for every call. Modification times in the metadata would cost one request per file (S3, Swift). */
const commonFlags = ['--use-server-modtime', '--ask-password=false'];
const killDelayMs = 2_000;

/**
 * Runs an rclone command and yields its output line by line.
 *
 * @throws CodedError if rclone fails; the signal's reason if it aborts
 */
export async function* rcloneLines(
  command: readonly string[],
  remote: string,
  deps: RcloneDeps,
): AsyncGenerator<string> {
  const rclone = new RcloneProcess(command, remote, deps);
  try {
    yield* createInterface({ input: rclone.child.stdout as Readable });
    const code = await rclone.ended;
    deps.signal?.throwIfAborted();
    if (code !== 0) throw rclone.toError(code);
  } finally {
    await rclone.end();
  }
}

/**
 * Starts the server for a remote and waits until it accepts connections. It uses WebDAV, because `serve webdav` can
 * be read-only, sends an ETag, and prints its port in every version (`serve http` of 1.60 does not).
 *
 * The server exits with this process, even if this process is killed. It prints statistics every two seconds, and
 * writing them to the closed pipe ends it (SIGPIPE). Windows has no SIGPIPE, so there the server stays behind as a
 * left-over process, reachable only on loopback with a random password.
 *
 * @param remote `REMOTE:PATH`
 * @throws CodedError if rclone fails; the signal's reason if it aborts
 */
export async function serveRemote(remote: string, deps: RcloneDeps): Promise<RcloneServer> {
  const [user, password] = [randomBytes(12).toString('hex'), randomBytes(24).toString('hex')];
  const command = [
    ...['serve', 'webdav', '--read-only', '--addr', '127.0.0.1:0'],
    ...['--stats', '2s', '--stats-one-line', '--stats-log-level', 'NOTICE'],
  ];
  // The arguments of a process are visible to every user, but its environment only to its owner.
  const rclone = new RcloneProcess(command, remote, deps, { RCLONE_USER: user, RCLONE_PASS: password });
  const stopped = new AbortController();
  const failed = rclone.ended.then(
    (code) => stopped.abort(rclone.toError(code)),
    (error) => stopped.abort(error),
  );
  const address = await Promise.race([rclone.address, failed]);
  deps.signal?.throwIfAborted();
  if (!address) throw stopped.signal.reason;
  const headers = basicAuth(user, password);
  return { url: new URL(address), headers, ended: stopped.signal, close: () => rclone.end() };
}

class RcloneProcess {
  readonly child: ChildProcess;
  /** Exit code; null if it was killed by a signal. Rejects with a CodedError if rclone is not installed. */
  readonly ended: Promise<number | null>;
  /** Promise for the server's URL, resolved once it accepts connections. */
  readonly address: Promise<string>;
  readonly #remote: string;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = () => void this.end();
  #lastErrorLine = '';

  /** @param credentials of the server, if it is one; its output is not read */
  constructor(
    command: readonly string[],
    remote: string,
    { environment, signal }: RcloneDeps,
    credentials?: Record<string, string>,
  ) {
    signal?.throwIfAborted();
    const inherited = Object.entries(withoutSecrets(environment)).filter(([name]) => !removedVariables.test(name));
    this.child = spawn('rclone', [...command, ...commonFlags, '--', remote], {
      env: { ...Object.fromEntries(inherited), ...credentials },
      stdio: ['ignore', credentials ? 'ignore' : 'pipe', 'pipe'],
    });
    this.ended = once(this.child, 'close').then(
      ([code]) => code,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT' && error.code !== 'EACCES') throw error;
        const reason = 'remotes are read with your own rclone and its configuration';
        throw usageError('rclone is not installed', 'install it: https://rclone.org/install', reason);
      },
    );
    this.ended.catch(() => {}); // awaited after its output is read
    this.address = this.#listen(this.child.stderr as Readable);
    this.#remote = remote;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#stop, { once: true });
  }

  /** Resolves with the server's URL. Reads stderr until its end, since a full pipe would block rclone. */
  #listen(stderr: Readable): Promise<string> {
    return new Promise((resolve) => {
      createInterface({ input: stderr }).on('line', (line) => {
        const address = /server started on \[?(http:\/\/127\.0\.0\.1:\d+\/)/i.exec(line)?.[1];
        if (address) resolve(address);
        // NOTICE lines report statistics or dangling links, not errors.
        else if (!/ NOTICE: /.test(line)) this.#lastErrorLine = line;
      });
    });
  }

  toError(code: number | null): CodedError {
    const words = this.#lastErrorLine.replace(/^[\d/]+ [\d:.]+ +(?:[A-Z]+ *: )?/, '').trim();
    const reason = escapeControls(words) || `it exited with ${code ?? 'a signal'}`;
    // "3: directory not found, 4: file not found" (rclone's own exit codes).
    if (code === 3 || code === 4)
      return new CodedError(`no such file: rclone:${this.#remote}`, {
        code: 'file_unusable',
        reason,
        hint: 'check the path: rclone lsf REMOTE:',
      });
    if (/didn't find section in config file/.test(words))
      return usageError(`no such remote: rclone:${this.#remote}`, 'rclone listremotes lists them', reason);
    const hint = 'test the remote with rclone: rclone lsf REMOTE:';
    return new CodedError(`rclone cannot read rclone:${this.#remote}`, { code: 'source_failed', reason, hint });
  }

  /** Sends SIGTERM, and later SIGKILL. Then closes the pipes, which children of rclone might hold open. */
  async end(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#stop);
    this.child.kill('SIGTERM');
    const ended = this.ended.catch(() => {}); // it never started
    await withTimeout(killDelayMs, () => ended).catch(() => {
      this.child.kill('SIGKILL');
      for (const pipe of [this.child.stdout, this.child.stderr]) pipe?.destroy();
      return ended;
    });
  }
}
