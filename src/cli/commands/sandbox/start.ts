import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { CodedError, usageError } from '../../../client/errors.ts';
import { withoutSecrets } from '../../../client/processes.ts';
import { makeStateFolder } from '../../../client/state-files.ts';
import { playbackHours, requestsPerHour, sandboxDefaults, sessionHours } from '../../../contract/limits.ts';
import { asArray, isJsonObject, type JsonObject, withoutUndefined } from '../../../shared/json-values.ts';
import { pollUntil, TimeoutError, withTimeout } from '../../../shared/retry.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { firstRunNotice, isWithoutProfiles } from '../../account/account.ts';
import { addExamples, type Define, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { exitCodes } from '../../error-hints.ts';
import { type DetailRow, noResult, type Result, record } from '../../output/result.ts';
import { parseCount, parseDuration, parseSize } from '../../settings/units.ts';
import { logPath } from './log.ts';
import { assertNotRemote, dataOption, findPort, locateSandbox, type SandboxLocation, saveProfile } from './profiles.ts';
import { findRunning, type RunningSandbox } from './server.ts';

export const start: Define = (command, run) => {
  addExamples(
    command,
    'mediactl sandbox start',
    'mediactl sandbox start --port 4600 --data-dir ./media-sandbox',
    'mediactl sandbox start --seed 1000 --fault cut-after=20MiB,times=2',
  );
  addStartOptions(command).action(run((context, flags) => runStart(context, parseStartRequest(flags))));
};

const addStartOptions = (command: Command) =>
  addServiceOptions(
    command
      .description(
        'Starts a local copy of the service in the background, and creates a profile for it (sandbox, or --profile). Uploads are kept until sandbox reset.',
      )
      .option('--port <number>', `port (its last, or ${sandboxDefaults.port}; 0 for any free port)`)
      .option(...dataOption)
      .option('--foreground', 'stay in the foreground and log to the terminal'),
  );

type StartRequest = {
  dataDir?: string | undefined;
  port?: number | undefined;
  foreground?: true | undefined;
  /** Options of the service that were typed (`toServiceOptions`). */
  options: JsonObject;
};

function parseStartRequest(flags: FlagsOf<typeof addStartOptions>): StartRequest {
  const port = flags.port === undefined ? undefined : parseCount('--port', flags.port);
  if (port !== undefined && port > 65_535)
    throw usageError(`--port does not accept '${port}'`, 'use a port up to 65535, or 0 for any free port');
  return { ...flags, port, options: toServiceOptions(flags) };
}

async function runStart(context: Context, request: StartRequest): Promise<Result> {
  const { foreground, options } = request;
  const location = await locateSandbox(context, request.dataDir);
  const { dataDir, profile } = location;
  if (context.isDryRun(`start the sandbox in ${dataDir}`)) return noResult;
  await assertNotRemote(context, profile);
  const existing = await findRunning(context, dataDir);
  if (existing) await assertSameOptions(location, existing, request);
  else if ('seed' in options && (await hasUploads(dataDir))) throw notEmpty(location);
  if (existing && !foreground) {
    const { profiles: stored } = await context.profiles.read();
    const isNew = !stored[profile] && Object.values(stored).some(({ sandbox }) => sandbox === dataDir);
    await saveProfile(context, location, existing);
    context.terminal.info(`the sandbox is already running (pid ${existing.pid})`);
    if (isNew)
      context.terminal.info(
        `profile ${profile} uses it too; for a second sandbox: mediactl sandbox start --data-dir DIR --profile NAME --port 0`,
      );
    return sandboxRecord(existing, location);
  }
  const child = await launch(context, dataDir, {
    ...request,
    port: request.port ?? (await findPort(context, dataDir)),
  });
  const running = await waitUntilRunning(context, child, location);
  if (running.pid !== child.pid)
    context.terminal.info(`another process has already started the sandbox (pid ${running.pid})`);
  for (const note of running.notes) context.terminal.warn(escapeControls(note));
  const isFirstRun = isWithoutProfiles(await context.profiles.read()) && context.terminal.isInteractive;
  const use = (await saveProfile(context, location, running)) ? '' : ` --profile ${profile}`;
  const tries = ['upload FILE --wait', 'ls', 'play @last --probe', 'open @last', 'browse'];
  context.terminal.info(
    ['the sandbox is running; try:', ...tries.map((words) => `  mediactl ${words}${use}`)].join('\n'),
  );
  if (isFirstRun) context.terminal.info(firstRunNotice);
  if (!foreground || running.pid !== child.pid) return sandboxRecord(running, location);
  await waitForExit(context, child);
  return noResult;
}

async function launch({ host }: Context, dataDir: string, { port, options, foreground }: StartRequest) {
  await makeStateFolder(dataDir, 'use another directory: --data-dir DIR');
  const all = JSON.stringify({ dataDir, port, logPath: foreground ? undefined : logPath(dataDir), ...options });
  const child = spawn(host.processes.execPath, [host.sandboxProgram, all], {
    detached: !foreground,
    env: withoutSecrets(host.environment),
    // In the foreground the log goes to stderr, because stdout is for results.
    stdio: foreground ? ['ignore', 2, 'pipe'] : ['ignore', 'ignore', 'pipe'],
  });
  if (!foreground) child.unref(); // this process must be able to exit before the server
  return child;
}

const startupTimeoutMs = 15_000;
/** Exit code of the sandbox program if another process has locked the data folder. */
const lockedExitCode = 3;

/** Polls until the server is ready, and returns its state. Until then reads its stderr, which explains a failure. */
async function waitUntilRunning(
  context: Context,
  child: ChildProcess,
  location: SandboxLocation,
): Promise<RunningSandbox> {
  const { clock, signal } = context;
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-10_000);
  });
  const isUp = () => child.exitCode === null && child.signalCode === null;
  const failed = () => notStarted(isUp() ? 'it does not respond' : complaint.trim(), child.exitCode, location);
  const findServer = async () => {
    const running = await findRunning(context, location.dataDir);
    // If two starts race, the loser exits with `lockedExitCode`, and the winner's server is used.
    if (running && (running.pid === child.pid || !isUp())) return running;
    if (isUp() || child.exitCode === lockedExitCode) return undefined;
    throw failed();
  };
  const untilRunning = (aborted: AbortSignal) => pollUntil(aborted, findServer, { clock, intervalMs: 50 });
  const running = await withTimeout(startupTimeoutMs, untilRunning, { clock, signal }).catch((error) => {
    child.kill(); // leave no left-over process
    throw error instanceof TimeoutError ? failed() : error;
  });
  child.stderr?.destroy();
  return running;
}

function notStarted(reason: string, childExit: number | null, location: SandboxLocation): CodedError {
  const [, hint] = nextSteps(location).find(([words]) => words.test(reason)) ?? [];
  return new CodedError('the sandbox did not start', {
    // The sandbox exits with 2 for invalid options.
    code: childExit === exitCodes.usage ? 'usage' : 'sandbox_failed',
    reason: reason.split('\n').at(-1),
    hint: hint ?? 'mediactl sandbox start --foreground, to see its output',
  });
}

const seedHint = ({ profile, isOfOther }: SandboxLocation) =>
  isOfOther
    ? `for a second sandbox: mediactl sandbox start --seed NUMBER --data-dir DIR --profile ${profile} --port 0`
    : `mediactl sandbox reset --profile ${profile}, then start it with --seed; or start a second sandbox: mediactl sandbox start --seed NUMBER --data-dir DIR --profile NAME --port 0`;

const nextSteps = (location: SandboxLocation): [RegExp, string][] => [
  [/EADDRINUSE/, 'mediactl sandbox start --port 0, to use any free port'],
  [/^--seed needs/, seedHint(location)],
  [/^no disk space/, 'free disk space, or use another directory: --data-dir DIR'],
  [/is not a database|another program|newer mediactl/, 'move that file, or use another directory: --data-dir DIR'],
  [/contains other files|is missing/, 'mediactl sandbox start --data-dir DIR'],
  [/^--/, 'mediactl sandbox start --help'],
];

/** Compares a running sandbox's options. @throws CodedError `usage` (exit 2) if they differ */
async function assertSameOptions(
  location: SandboxLocation,
  existing: RunningSandbox,
  { port, options }: StartRequest,
): Promise<void> {
  const { profile, isOfOther } = location;
  const other = (again: string, options: string, reason?: string) =>
    usageError(
      `the sandbox is already running at ${existing.url}`,
      isOfOther
        ? `for a second sandbox: mediactl sandbox start --data-dir DIR --profile ${profile} --port ${port ?? 0}${options}`
        : `mediactl sandbox stop, then start it ${again}`,
      reason,
    );
  if (port !== undefined && new URL(existing.url).port !== `${port}` && port !== 0) throw other('on that port', '');
  const different = Object.keys(options).filter((key) => !includesOption(existing.options[key], options[key]));
  if (different.length === 0) return;
  if (different.includes('seed') && (await hasUploads(location.dataDir))) throw notEmpty(location);
  throw other(
    'with these options',
    ', with these options',
    `it was started with ${formatServiceOptions(existing.options) || 'no options'}`,
  );
}

/** Returns true if a sandbox was started with a value, or with each of several values. */
const includesOption = (started: unknown, typed: unknown) =>
  Array.isArray(typed) ? typed.every((each) => asArray(started).includes(each)) : isDeepStrictEqual(started, typed);

/** Returns true if files were uploaded to the sandbox. Does not detect seeded assets. */
async function hasUploads(dataDir: string): Promise<boolean> {
  const names = await Promise.all(['media', 'uploads'].map((name) => readdir(join(dataDir, name)).catch(() => [])));
  return names.flat().length > 0;
}

const notEmpty = (location: SandboxLocation) =>
  usageError(
    '--seed needs an empty sandbox, but this one already has assets',
    seedHint(location),
    `they are in ${location.dataDir}`,
  );

async function waitForExit({ signal }: Context, child: ChildProcess): Promise<void> {
  const stop = () => child.kill();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  signal.removeEventListener('abort', stop);
  if (child.exitCode !== 0 && !signal.aborted)
    throw new CodedError('the sandbox exited', {
      code: 'sandbox_failed',
      reason: `exit code ${child.exitCode ?? child.signalCode}`,
    });
}

const sandboxRecord = (
  { pid, url, workspace, workspace_name, started_at }: RunningSandbox,
  { dataDir, profile }: SandboxLocation,
) =>
  record(
    { pid, url, workspace_uid: workspace, started_at, data_dir: dataDir, profile },
    url,
    (shown, render): DetailRow[] => [
      ['url', shown.url],
      ['pid', String(shown.pid)],
      ['workspace', render.isTerminal ? workspace_name : shown.workspace_uid],
      ['profile', shown.profile],
      ['data dir', shown.data_dir],
    ],
  );

const serviceOption = (flags: string, help: string, parse: (flag: string, text: string) => unknown) => {
  const option = new Option(flags, help);
  return option.argParser((text) => parse(option.long as string, text));
};

const seconds = (flag: string, text: string) => parseDuration(flag, text) / 1000;

const rateLimit = (flag: string, text: string) => {
  const [count = '', window = '', ...rest] = text.split('/');
  const windowSeconds = window === '' || rest.length > 0 ? 0 : seconds(flag, window);
  if (windowSeconds === 0) throw usageError(`${flag} does not accept '${text}'`, `such as ${requestsPerHour}/1h`);
  return { limit: parseCount(flag, count), windowSeconds };
};

/**
 * Options that configure the service itself, by their names in the sandbox's options (`src/sandbox/options.ts`). Faults are
 * not checked here, because the sandbox validates them.
 */
const serviceOptions = (): Record<string, Option> => ({
  seed: serviceOption('--seed <number>', 'start with this many sample assets', (flag, text) =>
    parseCount(flag, text, 1),
  ),
  strict: new Option('--strict', 'return and accept only what is specified'),
  faults: new Option('--fault <spec...>', 'inject a fault: see mediactl help faults'),
  rateLimit: serviceOption(
    '--rate-limit <number/duration>',
    `rate limit per API key (${requestsPerHour}/1h)`,
    rateLimit,
  ),
  sessionSeconds: serviceOption(
    '--session-lifetime <duration>',
    `lifetime of upload sessions (${sessionHours}h)`,
    seconds,
  ),
  playbackSeconds: serviceOption(
    '--token-lifetime <duration>',
    `lifetime of tokens and signed URLs (${playbackHours}h)`,
    seconds,
  ),
  credits: serviceOption('--credits <number>', '1 per MiB, play and subtitle track (unlimited)', parseCount),
  maxUploadBytes: serviceOption('--max-upload-size <size>', 'maximum upload size (unlimited)', parseSize),
  storageBytes: serviceOption('--storage <size>', 'storage quota (the disk)', parseSize),
  autoPlay: new Option('--auto-play', 'start players automatically'),
  theme: new Option('--theme <theme>', `theme of players (${sandboxDefaults.theme})`).choices(['light', 'dark']),
});

export function addServiceOptions<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  for (const option of Object.values(serviceOptions())) command.addOption(option);
  return command;
}

/** Returns the sandbox's options for those that were typed. */
export const toServiceOptions = (flags: Readonly<Record<string, unknown>>): JsonObject =>
  withoutUndefined(
    Object.fromEntries(Object.entries(serviceOptions()).map(([key, option]) => [key, flags[option.attributeName()]])),
  );

/** Formats the sandbox's options for the user, such as `--strict --credits=7`. */
function formatServiceOptions(options: JsonObject): string {
  const format = (value: unknown) => (isJsonObject(value) ? Object.values(value).join('/') : String(value));
  return Object.entries(serviceOptions())
    .flatMap(([key, { long }]) => {
      const value = options[key];
      if (value === undefined) return [];
      return value === true ? [long] : [value].flat().map((each) => `${long}=${format(each)}`);
    })
    .join(' ');
}
