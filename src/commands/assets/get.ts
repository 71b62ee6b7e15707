import type { Command } from '@commander-js/extra-typings';
import type { Collection } from '../../wire/paths.ts';
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
        const found = [];
        for (const uid of uids) found.push(await api[collection].get(uid));
        return oneOrMany(found, uids.length);
      }),
    );
}
