import type { Command } from '@commander-js/extra-typings';
import { imageFileName } from '../../../client/download/file-name.ts';
import { CodedError } from '../../../client/errors.ts';
import type { Collection } from '../../../contract/paths.ts';
import { parseHttpUrl } from '../../../shared/http-url.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type IdOptions, idHelp, newestOption, selectOneAsset } from '../../library/asset-ids.ts';
import { noResult } from '../../output/result.ts';
import { createProgress } from '../../progress/progress.ts';
import { savedRecord, saveOne } from './save.ts';

export function thumb(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} thumb @last -o poster.jpg`);
  command
    .description('Saves the thumbnail of an asset as a file. Exits with 3 if it has none.')
    .argument('[id]', idHelp)
    .option('-o, --output <file>', 'file to write; - for stdout (default: NAME.jpg)')
    .option(...newestOption)
    .action(run((context, id, { output, ...options }) => runThumb(context, { collection, id }, options, output)));
}

async function runThumb(
  context: Context,
  chosen: { collection: Collection; id: string | undefined },
  options: IdOptions,
  output: string | undefined,
) {
  const api = await context.api();
  const { uid, record } = await selectOneAsset(context, { ...chosen, purpose: 'read', needsRecord: true }, options);
  const asset = record ?? (await api[chosen.collection].get(uid));
  const url = parseHttpUrl(asset.thumbnail_url);
  if (!url)
    throw new CodedError(`asset ${uid} has no thumbnail`, {
      code: 'not_found',
      reason: 'its record has no usable thumbnail_url',
      hint: `mediactl get ${uid}`,
    });
  const extension = /\.(jpe?g|png|webp|gif|avif)$/i.exec(url.pathname)?.[1] ?? 'jpg';
  const path = output ?? (await imageFileName(asset, extension));
  const from = `${url.origin}${url.pathname}`;
  if (context.isDryRun(`save ${from} as ${path}`)) return noResult;
  const progress = await createProgress(context);
  const media = { assetUid: uid, url, expected: { isPublic: true }, isOriginal: false };
  const saved = await saveOne(context, media, { path, progress }).finally(() => progress.close());
  return saved ? savedRecord({ ...saved, verified: undefined }) : noResult;
}
