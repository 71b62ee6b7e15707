import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { parseDuration } from '../../profiles/units.ts';
import { progressModes } from '../../terminal/progress.ts';
import { nothing } from '../../terminal/result.ts';
import { hashKey, isCorrupt, type JournalEntry } from '../../upload/journal.ts';
import { example, type Run } from '../command.ts';
import { transferOptions } from '../upload/upload.ts';
import { type Job, uploadAll } from '../upload/upload-all.ts';
import { findUpload } from './find.ts';

export function resume(command: Command, run: Run): void {
  example(
    command,
    'mediactl uploads resume --all',
    'mediactl uploads resume 3f2a9c1d5e6b7a80 --wait',
  );
  command
    .summary('finish uploads')
    .description('Finishes uploads that were begun on this machine with the account in use.')
    .argument('[session]', 'id of the upload, or uid of its session or asset')
    .option('--all', 'every upload of this account')
    .option('--wait', 'wait until the assets are ready')
    .option('--timeout <duration>', 'how long to wait at most', '30m')
    .addOption(
      new Option('--progress <form>', 'what to show on stderr while it runs')
        .choices(progressModes)
        .default('auto' as const),
    )
    .action(
      run(async (context, id, { all, wait, timeout, progress }) => {
        if (!id === !all)
          throw usageError('which upload?', 'give its id from mediactl uploads ls, or --all');
        const { apiKey, baseUrl } = await context.account();
        const keyHash = hashKey(apiKey);
        const entries = id
          ? [await findUpload(context, id)]
          : await (await context.journal()).list();
        const readable = entries.filter((entry): entry is JournalEntry => !isCorrupt(entry));
        const mine = readable.filter(
          (entry) => entry.keyHash === keyHash && entry.baseUrl === baseUrl.origin,
        );
        if (id && mine.length === 0) {
          const [other] = readable;
          throw other
            ? usageError(
                `upload ${id} belongs to another account`,
                other.profile === 'environment'
                  ? 'set the MEDIACTL_API_KEY and MEDIACTL_BASE_URL that it was begun with'
                  : `mediactl uploads resume ${id} --profile ${other.profile}`,
                `it was begun with profile ${other.profile} at ${other.baseUrl}`,
              )
            : usageError(`upload ${id} is unreadable`, `mediactl uploads forget ${id}`);
        }
        if (context.onlyPretends(`finish ${mine.map(({ path }) => path).join(', ') || 'nothing'}`))
          return nothing;
        const options = transferOptions(context, {
          chunkSize: '50MiB',
          resume: true,
          onExpired: 'restart',
        });
        const timeoutMs = wait ? parseDuration('--timeout', timeout) : undefined;
        return uploadAll(context, mine.map(jobOf), options, { timeoutMs, progress });
      }),
    );
}

const jobOf = ({ realPath, metadata }: JournalEntry): Job => ({
  path: realPath,
  filename: metadata.filename,
  workspace: metadata.workspace_uid,
  folder: metadata.parent_folder_uid,
  name: metadata.asset_name,
  description: metadata.description,
  contentType: metadata.content_type,
});
