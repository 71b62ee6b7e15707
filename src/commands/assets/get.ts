import type { Command } from '@commander-js/extra-typings';
import { exitCodes, MediactlError, someFailed } from '../../errors.ts';
import type { Collection } from '../../wire/paths.ts';
import type { Asset } from '../../wire/types.ts';
import { example, type Run } from '../command.ts';
import { oneOrMany } from './columns.ts';
import { assetUids, idHelp } from './resolve.ts';

export function get(command: Command, run: Run, collection: Collection): void {
  example(command, `mediactl ${collection} get @last`, `mediactl ${collection} get @last --json`);
  command
    .alias('show')
    .summary('show one or more')
    .description('Shows everything the service says of an asset.')
    .argument('<id...>', `${idHelp}; - for stdin`)
    .action(
      run(async (context, ids) => {
        const api = await context.api();
        const uids = await assetUids(context, collection, ids);
        const found: Asset[] = [];
        const failures: MediactlError[] = [];
        for (const uid of uids)
          try {
            found.push(await api[collection].get(uid));
          } catch (error) {
            if (uids.length === 1 || !isOfOne(error)) throw error;
            failures.push(error.of(uid));
          }
        const problem = `${failures.length} of ${uids.length} ${collection} cannot be shown`;
        return {
          result: oneOrMany(found, uids.length),
          failure: failures.length > 0 ? someFailed(problem, failures) : undefined,
        };
      }),
    );
}

/** One that is not there says nothing of the others; a key that is refused does. */
const isOfOne = (error: unknown): error is MediactlError =>
  error instanceof MediactlError && error.exitCode === exitCodes.notFound;
