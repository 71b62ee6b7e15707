import type { Command } from '@commander-js/extra-typings';
import { exitCodes, MediactlError, someFailed } from '../../errors.ts';
import { assetUid, assetUids, idHelp, newestOption } from '../../library/assets.ts';
import { cell } from '../../terminal/printable.ts';
import { masked } from '../../terminal/redaction.ts';
import { nothing, type Row, record } from '../../terminal/result.ts';
import { httpUrl } from '../../wire/http-url.ts';
import type { Collection } from '../../wire/paths.ts';
import { fieldsIn, listIn, textIn } from '../../wire/reading.ts';
import type { Asset, PlayerData } from '../../wire/types.ts';
import { type Define, example, type Run } from '../command.ts';
import { openDownloadProgress } from '../progress.ts';
import { oneOrMany } from './columns.ts';
import { download } from './download.ts';
import { fileNameFor } from './file-name.ts';
import { list } from './list.ts';
import { remove } from './remove.ts';
import { save, savedRecord } from './save.ts';
import { update } from './update.ts';
import { wait } from './wait.ts';

/** Assets and videos share their verbs truly (§4), so both nouns come from this one definition. */
const collection =
  (name: Collection): Define =>
  (noun, run) => {
    list(noun.command('ls'), run, name);
    get(noun.command('get'), run, name);
    update(noun.command('update'), run, name);
    remove(noun.command('rm'), run, name);
    player(noun.command('player'), run, name);
    thumb(noun.command('thumb'), run, name);
    download(noun.command('download'), run, name);
    wait(noun.command('wait'), run, name);
  };

export const assets = collection('assets');
export const videos = collection('videos');

function get(command: Command, run: Run, collection: Collection): void {
  example(command, `mediactl ${collection} get @last`, `mediactl ${collection} get @last --json`);
  command
    .alias('show')
    .summary('show one or more')
    .description('Shows everything the service says of an asset.')
    .argument('[id...]', `${idHelp}; - for stdin`)
    .option(...newestOption)
    .action(
      run(async (context, ids, options) => {
        const api = await context.api();
        const uids = await assetUids(context, collection, ids, options);
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
          result: await oneOrMany(context, found, uids.length),
          failure: failures.length > 0 ? someFailed(problem, failures) : undefined,
        };
      }),
    );
}

/** An asset that is not there says nothing of the other ones; a key that is refused does. */
const isOfOne = (error: unknown): error is MediactlError =>
  error instanceof MediactlError && error.exitCode === exitCodes.notFound;

function player(command: Command, run: Run, collection: Collection): void {
  example(
    command,
    `mediactl ${collection} player @last`,
    `mediactl ${collection} player @last --reveal --json`,
  );
  command
    .summary('show what a player page needs')
    .description(
      'Shows the player data of an asset. The playback token is valid for 4 hours and may be shown to a browser; it is masked unless --reveal.',
    )
    .argument('[id]', idHelp)
    .option('--reveal', 'print the playback token')
    .option(...newestOption)
    .action(
      run(async (context, id, { reveal, ...choice }) => {
        const uid = await assetUid(context, collection, id, choice);
        const found = await (await context.api())[collection].player(uid);
        const shown = reveal ? found : { ...found, playback_token: masked(found.playback_token) };
        return record(shown, found.uid, playerRows);
      }),
    );
}

const playerRows = ({ player_config, items, ...rest }: PlayerData): Row[] => [
  ...Object.entries(rest).map(([field, value]): Row => [field.replaceAll('_', ' '), cell(value)]),
  ['auto play', cell(fieldsIn(player_config).auto_play)],
  ['theme', cell(fieldsIn(player_config).theme)],
  ['items', cell(listIn(items).map((item) => textIn(fieldsIn(fieldsIn(item).asset).uid) ?? '?'))],
];

function thumb(command: Command, run: Run, collection: Collection): void {
  example(command, `mediactl ${collection} thumb @last -o poster.jpg`);
  command
    .summary('save the thumbnail of an asset')
    .description('Saves the thumbnail of an asset as a file. Exit code 3 where it has none.')
    .argument('[id]', idHelp)
    .option('-o, --output <file>', 'where to; - for stdout (NAME.jpg by default)')
    .option(...newestOption)
    .action(
      run(async (context, id, { output, ...choice }) => {
        const api = await context.api();
        const uid = await assetUid(context, collection, id, choice);
        const { name, thumbnail_url } = await api[collection].get(uid);
        const url = httpUrl(thumbnail_url);
        if (!url) throw noThumbnail(uid);
        const extension = /\.(jpe?g|png|webp|gif|avif)$/i.exec(url.pathname)?.[1] ?? 'jpg';
        const path = output ?? fileNameFor(name, uid, extension);
        if (context.isDryRun(`save ${url.origin}${url.pathname} as ${path}`)) return nothing;
        const progress = await openDownloadProgress(context);
        const media = { assetUid: uid, url, expected: {} };
        const saved = await save(context, media, path, progress).finally(() => progress.close());
        return saved ? savedRecord(saved) : nothing;
      }),
    );
}

const noThumbnail = (uid: string) =>
  new MediactlError(`asset ${uid} has no thumbnail`, {
    code: 'no_thumbnail',
    exitCode: exitCodes.notFound,
    reason: 'its record has no thumbnail_url that can be fetched',
    hint: `mediactl assets get ${uid}`,
  });
