import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { noResult } from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { dataOption, findSandbox } from './location.ts';
import { findProfiles, forgetProfiles } from './profiles.ts';
import { assertNotRunning, findRunning, shutDown } from './server.ts';

export function reset(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl sandbox reset --yes');
  command
    .summary('stop it and delete everything in it')
    .description(
      'Stops the sandbox and deletes all its assets, uploads and keys, and the profiles that were made for it.',
    )
    .option(...dataOption)
    .action(
      run(async (context, { data }) => {
        const { settings, terminal } = context;
        const { dataDir } = await findSandbox(context, data);
        if (!(await pathExists(join(dataDir, 'sandbox.db')))) {
          terminal.info(`there is no sandbox in ${dataDir}; nothing was deleted`);
          return noResult;
        }
        if (context.isDryRun(`stop the sandbox and delete what it keeps in ${dataDir}`)) return noResult;
        const profiles = await findProfiles(context, dataDir);
        const named = profiles.map((name) => `, profile ${name}`).join('');
        await confirm(terminal, `Delete everything in ${dataDir}${named}?`, {
          yes: settings.yes,
          instead: 'mediactl sandbox reset --yes',
        });
        const running = await findRunning(context, dataDir);
        if (running) await shutDown(context, running);
        await assertNotRunning(context, dataDir);
        await forgetProfiles(context, profiles);
        await deleteSandbox(dataDir);
        const deleted = ['the sandbox', ...profiles.map((name) => `profile ${name}`)].join(', ');
        terminal.info(`gone: ${deleted}; mediactl sandbox start begins a new one`);
        return noResult;
      }),
    );
}

const pathExists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Deletes only the sandbox's own files, because the --data folder might contain other files. */
async function deleteSandbox(dataDir: string): Promise<void> {
  for (const name of [
    ...['sandbox.db', 'sandbox.db-wal', 'sandbox.db-shm', 'lock', 'lock-journal', 'secret', 'credentials.json'],
    ...['server.json', 'sandbox.log', 'sandbox.log.1', 'uploads', 'media'],
  ])
    await rm(`${dataDir}/${name}`, { recursive: true, force: true });
}
