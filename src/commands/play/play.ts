import { Option } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { record, text } from '../../terminal/result.ts';
import type { PlaybackInfo } from '../../wire/types.ts';
import { assetUid, idHelp } from '../assets/resolve.ts';
import { type Define, example } from '../command.ts';
import { checkPlayback } from './check.ts';
import { type Playable, playables } from './playables.ts';
import { checkRows, playbackRows } from './views.ts';

export const play: Define = (command, run) => {
  example(
    command,
    'mediactl play @last',
    'mediactl play @last --url',
    'mediactl play @last --check',
  );
  command
    .summary('resolve what to play, and check that it plays')
    .description(
      'Resolves the signed URLs of an asset: HLS first for a video, its source file as fallback. Ends 12 where playback is blocked.',
    )
    .argument('<id>', idHelp)
    .option('--url', 'print the URL alone')
    .option('--info', 'print the playback info as the service sent it')
    .option('--check', 'follow it to the first bytes of media, and say which link broke')
    .addOption(
      new Option('--source <kind>', 'which rendition of a video').choices(['hls', 'file'] as const),
    )
    .action(
      run(async (context, id, { url, info: wholeInfo, check, source }) => {
        if ([url, wholeInfo, check].filter(Boolean).length > 1)
          throw usageError('--url, --info and --check exclude each other');
        const uid = await assetUid(context, 'assets', id);
        const info = await resolvePlayback(context, uid);
        if (wholeInfo) return { kind: 'raw', text: JSON.stringify(info, null, 2) };
        if (info.blocked) throw blocked(uid);
        const found = playables(info);
        const chosen = source ? found.filter(({ kind }) => kind === source) : found;
        const [best] = chosen;
        if (!best) throw nothingToPlay(uid, info, source);
        if (url) return text(best.url.href);
        if (!check) return record(info, uid, (shown, dress) => playbackRows(shown, found, dress));
        return checked(context, uid, best);
      }),
    );
};

/** Player data give a token, the token gives playback info (§4, §5.6). */
async function resolvePlayback(context: Context, uid: string): Promise<PlaybackInfo> {
  const { assets, playback } = await context.api();
  const { playback_token } = await assets.player(uid);
  context.terminal.redactor.add(playback_token);
  return playback.info(uid, playback_token);
}

async function checked(context: Context, uid: string, playable: Playable) {
  const { playback } = await context.api();
  const report = { asset_uid: uid, ...(await checkPlayback(playback, playable)) };
  const broken = report.links.find(({ ok }) => !ok);
  return {
    result: record(report, uid, checkRows),
    failure:
      broken &&
      new MediactlError(`asset ${uid} does not play: the ${broken.link} is broken`, {
        code: 'playback_broken',
        exitCode: exitCodes.unplayable,
        reason: broken.problem ?? undefined,
        hint: `mediactl assets get ${uid}, to see its status`,
        details: broken,
      }),
  };
}

const blocked = (uid: string) =>
  new MediactlError(`playback of asset ${uid} is blocked`, {
    code: 'blocked',
    exitCode: exitCodes.unplayable,
    reason: 'the service says that nothing is to be played',
    hint: `mediactl play ${uid} --info`,
  });

const nothingToPlay = (uid: string, info: PlaybackInfo, source: string | undefined) =>
  new MediactlError(`asset ${uid} has no ${source ?? 'URL'} to play`, {
    code: 'nothing_to_play',
    exitCode: exitCodes.unplayable,
    reason: `the playback info of type ${info.type} names none`,
    hint: `mediactl play ${uid} --info, and mediactl assets wait ${uid} if it is not ready`,
  });
