import type { Command } from '@commander-js/extra-typings';
import { exitCodes, MediactlError } from '../../errors.ts';
import { nothing } from '../../terminal/result.ts';
import { httpUrl } from '../../wire/http-url.ts';
import type { Collection } from '../../wire/paths.ts';
import { example, type Run } from '../command.ts';
import { assetUid, idHelp } from './resolve.ts';
import { fileNameFor, save } from './save.ts';

export function thumb(command: Command, run: Run, collection: Collection): void {
  example(command, `mediactl ${collection} thumb @last -o poster.jpg`);
  command
    .summary('save the thumbnail of an asset')
    .description('Saves the thumbnail of an asset as a file. Exit code 3 where it has none.')
    .argument('<id>', idHelp)
    .option('-o, --output <file>', 'where to; - for stdout (NAME.jpg by default)')
    .action(
      run(async (context, id, { output }) => {
        const api = await context.api();
        const uid = await assetUid(context, collection, id);
        const { name, thumbnail_url } = await api[collection].get(uid);
        const url = httpUrl(thumbnail_url);
        if (!url) throw noThumbnail(uid);
        const extension = /\.(jpe?g|png|webp|gif|avif)$/i.exec(url.pathname)?.[1] ?? 'jpg';
        const path = output ?? fileNameFor(name, uid, extension);
        if (context.onlyPretends(`save ${url.origin}${url.pathname} as ${path}`)) return nothing;
        return save(context, { assetUid: uid, url, expected: {} }, path);
      }),
    );
}

const noThumbnail = (uid: string) =>
  new MediactlError(`asset ${uid} has no thumbnail`, {
    code: 'no_thumbnail',
    exitCode: exitCodes.notFound,
    reason: 'its record names no thumbnail_url that can be fetched',
    hint: `mediactl assets get ${uid}`,
  });
