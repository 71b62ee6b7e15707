import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { type DetailRow, noResult, record } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { launch, seedHint, waitUntilRunning } from './launch.ts';
import { dataOption, locateSandbox, type SandboxLocation } from './location.ts';
import { assertNotRemote, profileNames, saveProfiles } from './profiles.ts';
import { findRunning, type RunningSandbox } from './server.ts';
import { addServiceOptions, serviceArguments } from './service-options.ts';

export function start(command: Command, run: ActionWrapper): void {
  addExamples(
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
  addServiceOptions(plain).action(
    run(async (context, options) => {
      const location = await locateSandbox(context, options.data);
      const { dataDir, profile } = location;
      const { port, foreground = false } = options;
      if (port !== undefined) parseCount('--port', port);
      const requested = serviceArguments(options);
      if (context.isDryRun(`start the sandbox on ${dataDir}`)) return noResult;
      const profiles = profileNames(location, options.scopedProfiles ?? false);
      await assertNotRemote(context, profiles);
      const existing = await findRunning(context, dataDir);
      if (existing) await assertSameOptions(location, existing, { port, given: requested });
      else if (requested.some(isSeed) && (await hasUploads(dataDir))) throw notEmpty(location);
      if (existing && !foreground) {
        const { profiles: stored } = await context.profiles.read();
        const isNew = !stored[profile] && Object.values(stored).some(({ sandbox }) => sandbox === dataDir);
        await saveProfiles(context, location, existing, profiles);
        context.terminal.info(`the sandbox runs already, pid ${existing.pid}`);
        if (isNew)
          context.terminal.info(`profile ${profile} is for it too; a second one: --data DIR --profile NAME --port 0`);
        return sandboxRecord(existing, location);
      }
      const launched = await launch(context, { dataDir, port, options: requested }, foreground);
      const { child } = launched;
      const running = await waitUntilRunning(context, launched, location).catch((error) => {
        child.kill(); // leave no left-over process
        throw error;
      });
      if (running.pid !== child.pid) context.terminal.info(`another start was first: it runs, pid ${running.pid}`);
      for (const note of running.notes) context.terminal.warn(escapeControls(note));
      const isCurrent = await saveProfiles(context, location, running, profiles);
      const use = isCurrent ? '' : ` --profile ${profile}`;
      context.terminal.info(
        [
          'the sandbox is up; try:',
          `  mediactl upload ./clip.mp4 --wait${use}`,
          `  mediactl assets ls${use}`,
          `  mediactl play @last --check${use}`,
          `  mediactl sandbox watch @last --open${use}`,
          `  mediactl browse${use}`,
        ].join('\n'),
      );
      if (!foreground || running.pid !== child.pid) return sandboxRecord(running, location);
      await waitForExit(context, child);
      return noResult;
    }),
  );
}

/** Compares a running sandbox's options. @throws MediactlError `usage` (exit 2) if they differ */
async function assertSameOptions(
  location: SandboxLocation,
  existing: RunningSandbox,
  { port, given }: { port: string | undefined; given: readonly string[] },
): Promise<void> {
  const other = (hint: string, reason?: string) =>
    usageError(`the sandbox runs already, at ${existing.url}`, hint, reason);
  if (port !== undefined && new URL(existing.url).port !== port && port !== '0')
    throw other('mediactl sandbox stop, then start it with that port');
  const missing = given.filter((each) => !existing.options.includes(each));
  if (missing.length === 0) return;
  if (missing.some(isSeed) && (await hasUploads(location.dataDir))) throw notEmpty(location);
  throw other(
    'mediactl sandbox stop, then start it with these options',
    `it was started ${existing.options.length > 0 ? `with ${existing.options.join(' ')}` : 'without options'}`,
  );
}

const isSeed = (argument: string) => argument.startsWith('--seed=');

/** Returns true if files were uploaded to the sandbox. Does not detect seeded assets. */
async function hasUploads(dataDir: string): Promise<boolean> {
  const folders = ['media', 'uploads'].map((name) => join(dataDir, name));
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
  return names.flat().length > 0;
}

const notEmpty = (location: SandboxLocation) =>
  usageError(
    '--seed fills an empty sandbox, and this one has assets already',
    seedHint(location),
    `it keeps them in ${location.dataDir}`,
  );

/** Waits in the foreground until the server exits, or the user interrupts it. */
async function waitForExit({ signal }: Context, child: ChildProcess): Promise<void> {
  const stop = () => child.kill();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  signal.removeEventListener('abort', stop);
  if (child.exitCode !== 0 && !signal.aborted)
    throw new MediactlError('the sandbox ended', {
      code: 'sandbox_failed',
      reason: `exit code ${child.exitCode ?? child.signalCode}`,
    });
}

const sandboxRecord = (
  { pid, url, page, workspace, workspace_name, started_at }: RunningSandbox,
  { dataDir, profile }: SandboxLocation,
) =>
  record(
    { pid, url, page: page ?? null, workspace, started_at, data: dataDir, profile },
    url,
    (shown, render): DetailRow[] => [
      ['url', shown.url],
      ['page', shown.page ?? ''],
      ['pid', String(shown.pid)],
      ['workspace', (render.isTerminal ? workspace_name : undefined) ?? shown.workspace],
      ['profile', shown.profile],
      ['data', shown.data],
    ],
  );
