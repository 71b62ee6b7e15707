import { processingFailed } from '../../client/api/wait-for-assets.ts';
import { MediactlError, usageError } from '../../client/errors.ts';
import { classifyStatus, isAwaitingUpload } from '../../contract/assumptions.ts';
import { asText } from '../../contract/json-values.ts';
import { displayText } from '../../contract/sanitize.ts';
import type { PlaybackInfo, PlayerData } from '../../contract/types.ts';
import type { Context } from '../context.ts';
import { readInputText } from '../terminal/input.ts';

/** An asset's playback info, and its player data unless the info was fetched with a playback token from a file. */
export type ResolvedPlayback = { info: PlaybackInfo; player?: PlayerData };

/** Fetches an asset's player data, and its playback info with the playback token in them (§4, §5.6). */
export async function resolvePlayback(context: Context, uid: string): Promise<Required<ResolvedPlayback>> {
  const { assets, playback } = await context.api();
  const player = await assets.player(uid);
  context.terminal.redactor.add(player.playback_token);
  return { player, info: await playback.info(uid, player.playback_token) };
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

/** Asserts that playback is not blocked (§2). @throws MediactlError `nothing_to_play` (exit 12), or the processing error */
export async function assertNotBlocked(context: Context, uid: string, playback: ResolvedPlayback): Promise<void> {
  const { blocked } = playback.info;
  // Any other truthy value also counts as blocked.
  if (!blocked || blocked === 'false') return;
  const error = new MediactlError(`asset ${uid} cannot be played`, {
    code: 'nothing_to_play',
    reason: 'the service has blocked playback',
    hint: `mediactl wait ${uid} if it was just uploaded; mediactl get ${uid} shows its status`,
  });
  throw await explainUnplayable(context, uid, playback, error);
}

/** Returns an error with the failure reason if the asset's processing failed; otherwise the given error. */
export async function explainUnplayable(
  context: Context,
  uid: string,
  { player }: ResolvedPlayback,
  error: MediactlError,
): Promise<MediactlError> {
  if (!player) return error; // the asset cannot be fetched without an API key
  const asset = await (await context.api()).assets.get(uid).catch(() => undefined);
  if (!asset) return error;
  const state = classifyStatus(asset.status);
  if (state === 'failed') return processingFailed(asset);
  if (state === 'ready' || asText(asset.status) === undefined) return error;
  const isIncomplete = isAwaitingUpload(asset.status);
  return new MediactlError(`asset ${uid} is ${isIncomplete ? 'not uploaded completely' : 'still processing'}`, {
    ...error.explanation,
    reason: `its status is ${displayText(asset.status)}`,
    hint: isIncomplete ? 'mediactl uploads ls, to see the uploads that can be resumed' : `mediactl wait ${uid}`,
  });
}

export const nothingToPlayError = (uid: string, { type }: PlaybackInfo, unusable: readonly string[], source?: string) =>
  new MediactlError(`asset ${uid} has no ${source ?? 'URL'} to play`, {
    code: 'nothing_to_play',
    reason:
      unusable.length > 0
        ? `only http and https URLs can be played, and it has ${unusable.join(', ')}`
        : `the playback info of type ${asText(type) ?? 'unknown'} has no URL`,
    hint: `mediactl wait ${uid} if it is not ready; mediactl get ${uid} shows its status`,
  });
