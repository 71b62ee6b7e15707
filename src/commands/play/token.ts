import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import type { PlaybackInfo } from '../../wire/types.ts';
import { readInputText } from '../input.ts';

/** "no API key; authenticated by the playback token" (§4): what a player page can do, and no more. */
export async function playWithToken(
  context: Context,
  assetUid: string,
  tokenFile: string,
): Promise<PlaybackInfo> {
  const token = (await readInputText(context, tokenFile)).trim();
  if (!/^\S+$/.test(token))
    throw usageError(`no playback token in ${tokenFile}`, 'one line, as assets player --reveal');
  context.terminal.redactor.add(token);
  return (await context.mediaApi()).playback.info(assetUid, token);
}
