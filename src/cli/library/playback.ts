import { usageError } from '../../client/errors.ts';
import { resolvePlayback } from '../../client/library/playback.ts';
import type { Context } from '../context.ts';
import { readInputText } from '../terminal/input.ts';

/** Fetches an asset's player data and playback info. The token is masked from now on. */
export async function fetchPlayback(context: Context, uid: string) {
  const playback = await resolvePlayback(await context.api(), uid);
  context.terminal.redactor.add(playback.player.playback_token);
  return playback;
}

/** Fetches the playback info as a web page's player does, with a token from a file and no API key (§4). */
export async function fetchPlaybackByToken(context: Context, assetUid: string, tokenFile: string) {
  const token = (await readInputText(context.terminal, tokenFile)).trim();
  if (!/^\S+$/.test(token))
    throw usageError(
      `no playback token in ${tokenFile}`,
      'the file must contain one line, as printed by assets player-data --show-token',
    );
  context.terminal.redactor.add(token);
  return (await context.mediaApi()).playback.info(assetUid, token);
}
