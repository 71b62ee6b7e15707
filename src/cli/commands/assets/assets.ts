import type { Command } from '@commander-js/extra-typings';
import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError, partialFailure } from '../../../client/errors.ts';
import { asArray, asObject, asText } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import { displayText } from '../../../contract/sanitize.ts';
import type { Asset, PlayerData } from '../../../contract/types.ts';
import { idHelp, newestOption, resolveAssetUid, resolveAssetUids } from '../../library/asset-ids.ts';
import { type DetailRow, record } from '../../output/result.ts';
import { maskSecret } from '../../terminal/redactor.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { recordOrList } from './columns.ts';
import { download } from './download.ts';
import { list } from './list.ts';
import { renderPreview } from './picture.ts';
import { remove } from './remove.ts';
import { thumb } from './thumb.ts';
import { update } from './update.ts';
import { wait } from './wait.ts';

/** Defines the subcommands that `assets` and `videos` share (§4). */
const defineCollection =
  (name: Collection): CommandDefinition =>
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

export const assets = defineCollection('assets');
export const videos = defineCollection('videos');

function get(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} get @last`, `mediactl ${collection} get @last --json`);
  command
    .alias('show')
    .summary('show one or more')
    .description('Shows everything the service says of an asset.')
    .argument('[id...]', `${idHelp}; - for stdin`)
    .option(...newestOption)
    .action(
      run(async (context, ids, options) => {
        const api = await context.api();
        const uids = await resolveAssetUids(context, collection, ids, options);
        const found: Asset[] = [];
        const failures: MediactlError[] = [];
        for (const uid of uids)
          try {
            found.push(await api[collection].get(uid));
          } catch (error) {
            if (uids.length === 1 || !isNotFound(error)) throw error;
            failures.push(error.withSubject(uid));
          }
        const [only] = found;
        const problem = `${failures.length} of ${uids.length} ${collection} cannot be shown`;
        return {
          result: await recordOrList(context, found, uids.length),
          picture: only && uids.length === 1 ? await renderPreview(context, only) : undefined,
          failure: failures.length > 0 ? partialFailure(problem, failures) : undefined,
        };
      }),
    );
}

/** Returns true if the asset was not found. Other errors (such as a rejected key) affect all assets. */
const isNotFound = (error: unknown): error is MediactlError =>
  error instanceof MediactlError && error.exitCode === exitCodes.notFound;

function player(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} player @last`, `mediactl ${collection} player @last --reveal --json`);
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
        const uid = await resolveAssetUid(context, collection, id, choice);
        const found = await (await context.api())[collection].player(uid);
        const shown = reveal ? found : { ...found, playback_token: maskSecret(found.playback_token) };
        return record(shown, found.uid, playerRows);
      }),
    );
}

const playerRows = ({ player_config, items, ...rest }: PlayerData): DetailRow[] => [
  ...Object.entries(rest).map(([field, value]): DetailRow => [field.replaceAll('_', ' '), displayText(value)]),
  ['auto play', displayText(asObject(player_config).auto_play)],
  ['theme', displayText(asObject(player_config).theme)],
  ['items', displayText(asArray(items).map((item) => asText(asObject(asObject(item).asset).uid) ?? '?'))],
];
