import type { Command } from '@commander-js/extra-typings';
import { asCodedError, endsTheRun, partialFailure } from '../../../client/errors.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { runEach } from '../../../client/run-each.ts';
import { playbackHours } from '../../../contract/limits.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { PlayerData } from '../../../contract/types.ts';
import { asArray, asObject, asText } from '../../../shared/json-values.ts';
import { displayText } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type IdOptions, idHelp, newestOption, resolveSharedUid, select } from '../../library/asset-ids.ts';
import { type DetailRow, type Result, record } from '../../output/result.ts';
import { maskSecret } from '../../terminal/redactor.ts';
import { recordOrList } from './columns.ts';

export function get(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} get @last`, `mediactl ${collection} get @last --json`)
    .description('Shows the complete record of one or more assets.')
    .argument('[id...]', `${idHelp}; - for stdin`)
    .option(...newestOption)
    .action(run((context, ids, { newest }) => runGet(context, { collection, ids, newest })));
}

export type GetRequest = IdOptions & { collection: Collection; ids: readonly string[] };

export async function runGet(context: Context, { collection, ids, newest }: GetRequest) {
  const { [collection]: assets } = await context.api();
  const request = { collection, ids, purpose: 'read', needsRecord: true } as const;
  const selected = (await select(context, request, { newest })).assets;
  // A missing asset is the only failure that does not affect the others.
  const fetchOne = async ({ uid, record: fetched }: SelectedAsset) =>
    fetched ??
    assets.get(uid).catch((thrown) => {
      const error = asCodedError(thrown);
      throw error.kind === 'notFound' && selected.length > 1 ? error : error.with({ endsRun: true });
    });
  const results = await runEach(selected, fetchOne, context);
  const stop = results.flatMap(({ error }) => error ?? []).find(endsTheRun);
  if (stop) throw stop;
  const found = results.flatMap(({ value }) => value ?? []);
  const failures = results.flatMap(({ item, error }) => (error ? [error.withSubject(item.uid)] : []));
  const problem = `${failures.length} of ${selected.length} ${collection} cannot be shown`;
  return {
    result: await recordOrList(context, found, selected.length),
    failure: failures.length > 0 ? partialFailure(problem, failures) : undefined,
  };
}

export function player(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} player-data @last`,
    `mediactl ${collection} player-data @last --show-token --json`,
  )
    .description(
      `Shows the data that a player page needs. The playback token is valid for ${playbackHours} hours and safe to send to a browser; it is masked unless --show-token is given.`,
    )
    .argument('[id]', idHelp)
    .option('--show-token', 'print the playback token')
    .option(...newestOption)
    .action(run((context, id, flags) => runPlayer(context, { collection, id, ...flags })));
}

type PlayerRequest = IdOptions & { collection: Collection; id: string | undefined; showToken?: true | undefined };

async function runPlayer(context: Context, { collection, id, showToken, ...choice }: PlayerRequest): Promise<Result> {
  const uid = await resolveSharedUid(context, collection, id, choice);
  const found = await (await context.api())[collection].player(uid);
  const shown = showToken ? found : { ...found, playback_token: maskSecret(found.playback_token) };
  return record(shown, found.uid, playerRows);
}

const playerRows = ({ player_config, items, ...rest }: PlayerData): DetailRow[] => [
  ...Object.entries(rest).map(([field, value]): DetailRow => [field.replaceAll('_', ' '), displayText(value)]),
  ['auto play', displayText(asObject(player_config).auto_play)],
  ['theme', displayText(asObject(player_config).theme)],
  ['items', displayText(asArray(items).map((item) => asText(asObject(asObject(item).asset).uid) ?? '?'))],
];
