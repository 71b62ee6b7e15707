import { parsePlayables } from '../../../../client/library/playables.ts';
import type { PlaybackInfo } from '../../../../contract/types.ts';
import { parseHttpUrl } from '../../../../shared/http-url.ts';
import { asArray, asObject, asText, isJsonObject } from '../../../../shared/json-values.ts';
import { type ServiceProbe, unknownUid } from './probe.ts';
import { type AssumptionCheck, doesNotHold, holds, type Judgment, listNames, notTried } from './verdict.ts';

const infosOf = async (probe: ServiceProbe, isMeant: (info: PlaybackInfo) => boolean) =>
  (await probe.playback()).map(({ info }) => info).filter((info) => isMeant(info) && info.blocked !== true);

const isPresent = (value: unknown) => value !== undefined && value !== null && value !== '';

async function judgeAudio(probe: ServiceProbe): Promise<Judgment> {
  const infos = await infosOf(probe, ({ type, source }) => type === 'audio' && isPresent(source));
  if (infos.length === 0) return notTried('no ready audio was found with a source');
  const { baseUrl } = probe.api.transport;
  const urlOf = (value: unknown) => parseHttpUrl(isJsonObject(value) ? value.url : value, baseUrl);
  for (const info of infos) {
    if (parsePlayables(info, baseUrl).urls.length === 0)
      return doesNotHold(`the source of an audio has no URL: ${describe(info.source)}`);
    if (isPresent(info.waveform_url) && !urlOf(info.waveform_url))
      return doesNotHold(`the waveform_url of an audio has no URL: ${describe(info.waveform_url)}`);
  }
  const withWaveform = infos.filter(({ waveform_url }) => isPresent(waveform_url)).length;
  return holds(`${infos.length} audio with a source, ${withWaveform} with a waveform, which was not fetched`);
}

/** Names the fields of a value, or its type. */
const describe = (value: unknown) => (isJsonObject(value) ? listNames(Object.keys(value)) : typeof value);

async function judgeImages(probe: ServiceProbe): Promise<Judgment> {
  const infos = await infosOf(probe, ({ type, variants }) => type === 'image' && asArray(variants).length > 0);
  if (infos.length === 0) return notTried('no ready image was found with variants');
  for (const info of infos) {
    const [variant] = asArray(info.variants);
    const { urls, isSorted } = parsePlayables(info, probe.api.transport.baseUrl);
    if (urls.length < asArray(info.variants).length)
      return doesNotHold(`a variant has no URL; one has ${describe(variant)}`);
    if (!isSorted) return doesNotHold(`variants show no size; one has ${describe(variant)}`);
  }
  return holds(`${infos.length} images with variants`);
}

/** Returns the URL of an entry as the pages read it (assumption A16). */
const entryUrl = (entry: unknown, baseUrl: URL) => {
  const { url, src } = isJsonObject(entry) ? entry : asObject({ url: entry });
  return parseHttpUrl(url ?? src, baseUrl);
};

async function judgeTracks(probe: ServiceProbe): Promise<Judgment> {
  const entriesOf = ({ subtitle_tracks, thumbnails }: PlaybackInfo) => [
    ...asArray(subtitle_tracks),
    ...asArray(thumbnails),
  ];
  const entries = (await infosOf(probe, () => true)).flatMap(entriesOf);
  if (entries.length === 0) return notTried('no asset was found with subtitle tracks or thumbnails of pages');
  const other = entries.find((entry) => !entryUrl(entry, probe.api.transport.baseUrl));
  if (other !== undefined) return doesNotHold(`an entry has no URL: ${describe(other)}`);
  return holds(`${entries.length} subtitle tracks and thumbnails of pages`);
}

const assumedStatuses = [401, 403, 404, 422, 429];

async function judgePlaybackError(probe: ServiceProbe): Promise<Judgment> {
  const uid = (await probe.playback())[0]?.uid ?? (await probe.assets()).records[0]?.uid ?? unknownUid;
  const { line, status, response } = await probe.playbackInfo(uid, 'not-a-token');
  if (status >= 500) return notTried(line);
  const found = `${line} for a token that is none`;
  if (!assumedStatuses.includes(status)) return doesNotHold(found);
  return asText(response.text.trim()) ? holds(found) : doesNotHold(`${found}, an empty body`);
}

export const playbackChecks: readonly AssumptionCheck[] = [
  { id: 'A14', sends: 'POST /playback/info/ of audio', judge: judgeAudio },
  { id: 'A15', sends: 'POST /playback/info/ of images', judge: judgeImages },
  { id: 'A16', sends: 'POST /playback/info/ of an asset of each type', judge: judgeTracks },
  { id: 'A19', sends: 'POST /playback/info/ with a token that is none', judge: judgePlaybackError },
];
