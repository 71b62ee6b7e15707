import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { exitCodes, MediactlError, usageError } from '../../../client/errors.ts';
import { printable } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { nothing, type Row, record } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { example, type Run } from '../command.ts';
import { launch, seedHint, untilRunning } from './launch.ts';
import { dataOption, type SandboxLocation, sandboxToStart } from './location.ts';
import { assertProfilesAreOurs, keepProfiles, profileNames } from './profiles.ts';
import { findRunning, type Running } from './server.ts';
import { serviceArguments, serviceOptions } from './service-options.ts';

export function start(command: Command, run: Run): void {
  example(
    command,
    'mediactl sandbox start',
    'mediactl sandbox start --port 4600 --data ./media-sandbox',
    'mediactl sandbox start --seed 1000 --fault cut-after=20MiB,times=2',
    'mediactl sandbox start --scoped-profiles',
  );
  const plain = command
    .summary('start the service on this machine')
    .description(
      'Starts the service in the background, and makes a profile for it: sandbox, or the one that --profile names. What you upload is kept until sandbox reset.',
    )
    .option('--port <number>', 'port to listen on (4520; 0 for any free)')
    .option(...dataOption)
    .option('--foreground', 'stay in this terminal, and log to it')
    .option('--scoped-profiles', 'make profiles NAME-read and NAME-write too');
  serviceOptions(plain).action(
    run(async (context, options) => {
      const place = await sandboxToStart(context, options.data);
      const { dataDir, profile } = place;
      const { port, foreground = false } = options;
      if (port !== undefined) parseCount('--port', port);
      const given = serviceArguments(options);
      if (context.isDryRun(`start the sandbox on ${dataDir}`)) return nothing;
      const profiles = profileNames(place, options.scopedProfiles ?? false);
      await assertProfilesAreOurs(context, profiles);
      const already = await findRunning(context, dataDir);
      if (already) await assertSame(place, already, { port, given });
      else if (given.some(isSeed) && (await hasBytes(dataDir))) throw notEmpty(place);
      if (already && !foreground) {
        const { profiles: kept } = await context.profiles.read();
        const isNew =
          !kept[profile] && Object.values(kept).some(({ sandbox }) => sandbox === dataDir);
        await keepProfiles(context, place, already, profiles);
        context.terminal.say(`the sandbox runs already, pid ${already.pid}`);
        if (isNew)
          context.terminal.say(
            `profile ${profile} is for it too; a second one: --data DIR --profile NAME --port 0`,
          );
        return view(already, place);
      }
      const launched = await launch(context, { dataDir, port, options: given }, foreground);
      const { child } = launched;
      const running = await untilRunning(context, launched, place).catch((error) => {
        child.kill(); // leave no orphan process
        throw error;
      });
      if (running.pid !== child.pid)
        context.terminal.say(`another start was first: it runs, pid ${running.pid}`);
      for (const note of running.notes) context.terminal.warn(printable(note));
      const isCurrent = await keepProfiles(context, place, running, profiles);
      const use = isCurrent ? '' : ` --profile ${profile}`;
      context.terminal.say(
        [
          'the sandbox is up; try:',
          `  mediactl upload ./clip.mp4 --wait${use}`,
          `  mediactl assets ls${use}`,
          `  mediactl play @last --check${use}`,
          `  mediactl sandbox watch @last --open${use}`,
          `  mediactl browse${use}`,
        ].join('\n'),
      );
      if (!foreground || running.pid !== child.pid) return view(running, place);
      await stayWith(context, child);
      return nothing;
    }),
  );
}

/** Checks the running sandbox's port and options. @throws MediactlError exit 2 if others were requested */
async function assertSame(
  place: SandboxLocation,
  already: Running,
  { port, given }: { port: string | undefined; given: readonly string[] },
): Promise<void> {
  const other = (hint: string, reason?: string) =>
    usageError(`the sandbox runs already, at ${already.url}`, hint, reason);
  if (port !== undefined && new URL(already.url).port !== port && port !== '0')
    throw other('mediactl sandbox stop, then start it with that port');
  const missing = given.filter((each) => !already.options.includes(each));
  if (missing.length === 0) return;
  if (missing.some(isSeed) && (await hasBytes(place.dataDir))) throw notEmpty(place);
  throw other(
    'mediactl sandbox stop, then start it with these options',
    `it was started ${already.options.length > 0 ? `with ${already.options.join(' ')}` : 'without options'}`,
  );
}

const isSeed = (argument: string) => argument.startsWith('--seed=');

/** Returns true if files were uploaded to it. Seeded assets have no bytes; the service detects them itself. */
async function hasBytes(dataDir: string): Promise<boolean> {
  const folders = ['media', 'uploads'].map((name) => join(dataDir, name));
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
  return names.flat().length > 0;
}

const notEmpty = (place: SandboxLocation) =>
  usageError(
    '--seed fills an empty sandbox, and this one has assets already',
    seedHint(place),
    `it keeps them in ${place.dataDir}`,
  );

/** Waits in the foreground until the server exits, or the user interrupts it. */
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

const view = (
  { pid, url, page, workspace, workspace_name, started_at }: Running,
  { dataDir, profile }: SandboxLocation,
) =>
  record(
    { pid, url, page: page ?? null, workspace, started_at, data: dataDir, profile },
    url,
    (shown, render): Row[] => [
      ['url', shown.url],
      ['page', shown.page ?? ''],
      ['pid', String(shown.pid)],
      ['workspace', (render.isTerminal ? workspace_name : undefined) ?? shown.workspace],
      ['profile', shown.profile],
      ['data', shown.data],
    ],
  );
