import type { Command } from '@commander-js/extra-typings';
import { listBy } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { pendingColumns, pendingUpload, unfinished } from './columns.ts';

export function list(command: Command, run: Run): void {
  example(command, 'mediactl uploads ls');
  command
    .alias('list')
    .summary('list the uploads under way')
    .description('Lists the uploads that were begun on this machine and are not finished.')
    .action(
      run(async (context) =>
        listBy(
          ({ id }) => id,
          unfinished(await (await context.journal()).list()).map((entry) =>
            pendingUpload(entry, context.clock.now()),
          ),
          pendingColumns,
          'no uploads under way',
        ),
      ),
    );
}
