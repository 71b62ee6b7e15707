import { classifyStatus, isAwaitingUpload } from '../../contract/assumptions.ts';
import type { PlaybackInfo, PlayerData } from '../../contract/types.ts';
import { asText } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import { CodedError } from '../errors.ts';
import type { Playables } from './playables.ts';
import { processingFailed } from './wait-for-assets.ts';

/** An asset's playback info, and its player data unless the info was fetched with a playback token from a file. */
export type ResolvedPlayback = { info: PlaybackInfo; player?: PlayerData };

/** Fetches an asset's player data, and its playback info with the playback token in that data (§4, §5.6). */
export async function resolvePlayback({ assets, playback }: Api, uid: string): Promise<Required<ResolvedPlayback>> {
  const player = await assets.player(uid);
  return { player, info: await playback.info(uid, player.playback_token) };
}

/** Asserts that playback is not blocked (§2). @throws CodedError `nothing_to_play` (exit 12), or the processing error */
export async function assertNotBlocked(api: Api, uid: string, playback: ResolvedPlayback): Promise<void> {
  const { blocked } = playback.info;
  // Any other truthy value also counts as blocked.
  if (!blocked || blocked === 'false') return;
  const error = new CodedError(`asset ${uid} cannot be played`, {
    code: 'nothing_to_play',
    reason: 'the service has blocked playback',
    remedy: ['show_embed_restriction'],
    details: { asset_uid: uid },
  });
  throw await explainUnplayable(api, uid, playback, error);
}

/** Returns an error with the failure reason if the asset's processing failed; otherwise the given error. */
export async function explainUnplayable(
  { assets }: Api,
  uid: string,
  { player }: ResolvedPlayback,
  error: CodedError,
): Promise<CodedError> {
  if (!player) return error; // the asset cannot be fetched without an API key
  const asset = await assets.get(uid).catch(() => undefined);
  if (!asset) return error;
  const state = classifyStatus(asset.status);
  if (state === 'failed') return processingFailed(asset);
  if (state === 'ready')
    return error.with(error.explanation.remedy ? {} : { hint: 'it is ready, so waiting does not help' });
  if (asText(asset.status) === undefined) return error;
  const isIncomplete = isAwaitingUpload(asset.status);
  return new CodedError(`asset ${uid} is ${isIncomplete ? 'not uploaded completely' : 'still processing'}`, {
    ...error.explanation,
    // That of the error helps if the asset is ready.
    remedy: isIncomplete ? undefined : ['wait_then_repeat', uid],
    reason: `its status is ${asText(asset.status)}`,
  });
}

/** @param source kind of URL that was asked for; undefined for any */
export function nothingToPlayError(uid: string, { type }: PlaybackInfo, playables: Playables, source?: string) {
  const { urls, unusable } = playables;
  return new CodedError(`asset ${uid} has no ${source ?? 'URL'} to play`, {
    code: 'nothing_to_play',
    reason:
      unusable.length > 0
        ? `only http and https URLs can be played, and it has ${unusable.join(', ')}`
        : `the playback info of type ${asText(type) ?? 'unknown'} has no ${urls.length > 0 && source ? `URL of ${source === 'file' ? 'a file' : source}` : 'URL'}`,
    remedy: urls.length > 0 ? ['show_playback', uid] : undefined,
    details: { asset_uid: uid },
  });
}
