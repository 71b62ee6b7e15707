import type { Command } from '@commander-js/extra-typings';
import { cell } from '../../terminal/printable.ts';
import { masked } from '../../terminal/redaction.ts';
import { type Row, record } from '../../terminal/result.ts';
import type { Collection } from '../../wire/paths.ts';
import { fieldsIn, listIn, textIn } from '../../wire/reading.ts';
import type { PlayerData } from '../../wire/types.ts';
import { example, type Run } from '../command.ts';
import { assetUid, idHelp } from './resolve.ts';

export function player(command: Command, run: Run, collection: Collection): void {
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
    .argument('<id>', idHelp)
    .option('--reveal', 'print the playback token')
    .action(
      run(async (context, id, { reveal }) => {
        const uid = await assetUid(context, collection, id);
        const found = await (await context.api())[collection].player(uid);
        const shown = reveal ? found : { ...found, playback_token: masked(found.playback_token) };
        return record(shown, found.uid, rows);
      }),
    );
}

const rows = ({ player_config, items, ...rest }: PlayerData): Row[] => [
  ...Object.entries(rest).map(([field, value]): Row => [field.replaceAll('_', ' '), cell(value)]),
  ['auto play', cell(fieldsIn(player_config).auto_play)],
  ['theme', cell(fieldsIn(player_config).theme)],
  ['items', cell(listIn(items).map((item) => textIn(fieldsIn(fieldsIn(item).asset).uid) ?? '?'))],
];
