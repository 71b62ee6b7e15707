import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { isLoopback, parseBaseUrl } from '../../profiles/base-url.ts';
import { assertProfileName } from '../../profiles/profile-file.ts';
import { ranks } from '../../profiles/sources.ts';
import { parseCount } from '../../profiles/units.ts';
import { nothing, type Row, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import {
  dataDirOf,
  dataOption,
  findRunning,
  launch,
  type Running,
  readKeys,
  untilRunning,
  usualProfile,
} from './server.ts';
import { serviceArguments, serviceOptions } from './service-options.ts';

export function start(command: Command, run: Run): void {
  example(
    command,
    'mediactl sandbox start',
    'mediactl sandbox start --port 4600 --data ./media-sandbox',
    'mediactl sandbox start --seed 1000 --fault cut-after=20MiB,times=2',
  );
  const plain = command
    .summary('start the service on this machine')
    .description(
      'Starts the service on this machine and makes a profile for it, sandbox or the one that --profile names. It goes on in the background; what you upload is kept until sandbox reset.',
    )
    .option('--port <number>', 'port to listen on (4520; 0 for any that is free)')
    .option(...dataOption)
    .option('--foreground', 'stay in this terminal, and log to it');
  serviceOptions(plain).action(
    run(async (context, options) => {
      const dataDir = dataDirOf(context, options.data);
      const port = options.port;
      if (port !== undefined) parseCount('--port', port);
      const told = serviceArguments(options);
      if (context.onlyPretends(`start the sandbox on ${dataDir}`)) return nothing;
      const profileName = profileFor(context);
      await assertProfileIsOurs(context, profileName);
      const already = await findRunning(context, dataDir);
      if (already && port !== undefined && new URL(already.url).port !== port && port !== '0')
        throw usageError(
          `the sandbox runs already, at ${already.url}`,
          'mediactl sandbox stop, then start it with that port',
        );
      if (already && told.some((each) => !already.told.includes(each)))
        throw usageError(
          `the sandbox runs already, at ${already.url}`,
          'mediactl sandbox stop, then start it with these options',
          `it was started ${already.told.length > 0 ? `with ${already.told.join(' ')}` : 'without options'}`,
        );
      if (already && !options.foreground) {
        await keepProfile(context, profileName, dataDir, already);
        context.terminal.say(`the sandbox runs already, pid ${already.pid}`);
        return view(already, dataDir, profileName);
      }
      const child = await launch(context, { dataDir, port, told }, options.foreground ?? false);
      const running = await untilRunning(context, child, dataDir).catch((error) => {
        child.kill(); // nobody would know of it
        throw error;
      });
      if (running.pid !== child.pid)
        context.terminal.say(`another start was first: it runs, pid ${running.pid}`);
      const isCurrent = await keepProfile(context, profileName, dataDir, running);
      const use = isCurrent ? '' : ` --profile ${profileName}`;
      context.terminal.say(
        [
          'the sandbox is up; try:',
          `  mediactl upload ./clip.mp4 --wait${use}`,
          `  mediactl assets ls${use}`,
          `  mediactl play @last --check${use}`,
          '  mediactl sandbox watch @last --open',
        ].join('\n'),
      );
      if (!options.foreground || running.pid !== child.pid)
        return view(running, dataDir, profileName);
      await stayWith(context, child);
      return nothing;
    }),
  );
}

/** The profile that the sandbox gets: `sandbox`, or the one that --profile names. */
function profileFor({ settings }: Context): string {
  const { value, rank } = settings.origins.of('profile');
  if (value === undefined || rank < ranks.flag) return usualProfile;
  assertProfileName(value);
  return value;
}

/** In the foreground: until it ends, or the person ends it. */
async function stayWith({ signal }: Context, child: ChildProcess): Promise<void> {
  const stop = () => child.kill();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  signal.removeEventListener('abort', stop);
  if (child.exitCode !== 0 && !signal.aborted)
    throw new MediactlError('the sandbox ended', {
      code: 'sandbox_failed',
      exitCode: exitCodes.unclassified,
      reason: `exit code ${child.exitCode ?? child.signalCode}`,
    });
}

/** Makes or mends the profile; current only where there is no other. True where it is current. */
async function keepProfile(
  context: Context,
  profileName: string,
  dataDir: string,
  running: Running,
): Promise<boolean> {
  const { all } = await readKeys(dataDir);
  context.terminal.redactor.add(all);
  let elsewhere: string | undefined;
  const config = await context.profiles.update((current) => {
    const known = current.profiles[profileName];
    if (known && known.key !== all) elsewhere = known.baseUrl;
    // The same key is the same sandbox: what was chosen in it holds.
    const workspace = (known?.key === all && known?.workspace) || running.workspace;
    current.profiles[profileName] = {
      ...known,
      ...{ baseUrl: running.url, key: all as string, keyStore: 'file', workspace },
    };
    current.current ??= profileName;
  });
  if (elsewhere)
    context.terminal.warn(
      `profile ${profileName} is for this sandbox now; it was for the one at ${elsewhere}`,
    );
  return config.current === profileName;
}

/** @throws MediactlError before anything starts, where the profile is another service's */
async function assertProfileIsOurs({ profiles }: Context, profileName: string): Promise<void> {
  const { [profileName]: taken } = (await profiles.read()).profiles;
  if (taken && !isLoopback(parseBaseUrl(taken.baseUrl)))
    throw profileTaken(profileName, taken.baseUrl);
}

const profileTaken = (profileName: string, baseUrl: string) =>
  new MediactlError(`there is a profile ${profileName} already, for ${baseUrl}`, {
    code: 'profile_taken',
    exitCode: exitCodes.usage,
    reason: 'the sandbox would overwrite its key',
    hint: `mediactl auth rename ${profileName} NAME, then mediactl sandbox start`,
  });

const published = (
  { pid, url, workspace, started_at }: Running,
  data: string,
  profile: string,
) => ({
  pid,
  url,
  workspace,
  started_at,
  data,
  profile,
});

const view = (running: Running, dataDir: string, profile: string) =>
  record(published(running, dataDir, profile), running.url, (shown): Row[] => [
    ['url', shown.url],
    ['pid', String(shown.pid)],
    ['workspace', shown.workspace],
    ['profile', shown.profile],
    ['data', shown.data],
  ]);
