import { rm } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { confirm } from '../../terminal/prompt.ts';
import { listBy, nothing } from '../../terminal/result.ts';
import { isCorrupt } from '../../upload/journal.ts';
import { example, type Run } from '../command.ts';
import { isSpooled } from '../upload/files.ts';
import { pendingColumns, pendingUpload } from './columns.ts';
import { findUpload } from './find.ts';

export function forget(command: Command, run: Run): void {
  example(command, 'mediactl uploads forget 3f2a9c1d5e6b7a80', 'mediactl uploads forget --expired');
  command
    .summary('forget uploads without finishing them')
    .description(
      'Forgets uploads of this machine. Their assets stay unfinished on the service; they are named.',
    )
    .argument('[session]', 'id of the upload, or uid of its session or asset')
    .option('--expired', 'every upload whose session is expired')
    .action(
      run(async (context, id, { expired }) => {
        if (!id === !expired)
          throw usageError('which upload?', 'give its id from mediactl uploads ls, or --expired');
        const { clock, settings, terminal } = context;
        const journal = await context.journal();
        const entries = id ? [await findUpload(context, id)] : await journal.list();
        const leaving = entries
          .map((entry) => ({ entry, shown: pendingUpload(entry, clock.now()) }))
          .filter(({ shown }) => id !== undefined || shown.state === 'expired');
        const names = leaving.map(({ shown }) => shown.path).join(', ');
        if (context.onlyPretends(`forget ${names || 'nothing'}`)) return nothing;
        if (leaving.some(({ shown }) => shown.state === 'resumable'))
          await confirm(terminal, 'It could still be finished. Forget it?', {
            yes: settings.yes,
            instead: `mediactl uploads forget ${id} --yes`,
          });
        for (const { entry } of leaving) {
          await journal.remove(entry.id);
          if (!isCorrupt(entry) && (await isSpooled(context, entry.realPath)))
            await rm(entry.realPath, { force: true });
        }
        const forgotten = leaving.map(({ shown }) => shown);
        return listBy(({ id: each }) => each, forgotten, pendingColumns, 'nothing to forget');
      }),
    );
}
