import type { Command } from '@commander-js/extra-typings';
import { MediactlError } from '../../../client/errors.ts';
import { parseHttpUrl } from '../../../contract/http-url.ts';
import type { Collection } from '../../../contract/paths.ts';
import { idHelp, newestOption, resolveAssetUid } from '../../library/asset-ids.ts';
import { noResult } from '../../output/result.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { openDownloadProgress } from '../progress.ts';
import { sanitizeFileName } from './file-name.ts';
import { renderThumbnail, requireProtocol } from './picture.ts';
import { save, savedRecord } from './save.ts';

export function thumb(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} thumb @last -o poster.jpg`, `mediactl ${collection} thumb @last --show`);
  command
    .summary('save the thumbnail of an asset, or show it')
    .description(
      'Saves the thumbnail of an asset as a file, or shows it in the terminal. Exit code 3 where it has none.',
    )
    .argument('[id]', idHelp)
    .option('-o, --output <file>', 'where to; - for stdout (NAME.jpg by default)')
    .option('--show', 'show it in this terminal; with -o, save it too')
    .option(...newestOption)
    .action(
      run(async (context, id, { output, show, ...choice }) => {
        const protocol = show ? requireProtocol(context) : undefined;
        const api = await context.api();
        const uid = await resolveAssetUid(context, collection, id, choice);
        const { name, thumbnail_url } = await api[collection].get(uid);
        const url = parseHttpUrl(thumbnail_url);
        if (!url) throw noThumbnail(uid);
        const isSaved = output !== undefined || !protocol;
        const extension = /\.(jpe?g|png|webp|gif|avif)$/i.exec(url.pathname)?.[1] ?? 'jpg';
        const path = output ?? sanitizeFileName(name, uid, extension);
        const from = `${url.origin}${url.pathname}`;
        const what = isSaved ? `save ${from} as ${path}` : `show ${from}`;
        if (context.isDryRun(what)) return noResult;
        const picture = protocol && (await renderThumbnail(context, url, protocol));
        if (!isSaved) return { result: noResult, picture };
        const progress = await openDownloadProgress(context);
        const media = { assetUid: uid, url, expected: { isPublic: true } };
        const saved = await save(context, media, path, progress).finally(() => progress.close());
        return { result: saved ? savedRecord(saved) : noResult, picture };
      }),
    );
}

const noThumbnail = (uid: string) =>
  new MediactlError(`asset ${uid} has no thumbnail`, {
    code: 'no_thumbnail',
    reason: 'its record has no thumbnail_url that can be fetched',
    hint: `mediactl assets get ${uid}`,
  });
