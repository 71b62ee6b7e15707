import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Command, Option } from '@commander-js/extra-typings';
import type { Api } from '../../../client/api/api.ts';
import { CodedError, combineFailures, usageError } from '../../../client/errors.ts';
import { type PlayableUrl, parsePlayables } from '../../../client/library/playables.ts';
import {
  assertNotBlocked,
  explainUnplayable,
  nothingToPlayError,
  type ResolvedPlayback,
} from '../../../client/library/playback.ts';
import { failureReason } from '../../../client/library/wait-for-assets.ts';
import { runEach } from '../../../client/run-each.ts';
import { writeStateFile } from '../../../client/state-files.ts';
import { playbackHours } from '../../../contract/limits.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { asText, parseTimestamp } from '../../../shared/json-values.ts';
import { quoteForShell, relativeTime } from '../../../shared/sanitize.ts';
import { readWatchScripts, renderWatchPage } from '../../../web/watch/server/page.ts';
import { addExamples, type CommandDefinition, type CommandOutcome, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { expandUidPrefix } from '../../library/ambiguity.ts';
import { idHelp, newestOption, resolveSharedUid, select } from '../../library/asset-ids.ts';
import { fetchPlayback, fetchPlaybackByToken } from '../../library/playback.ts';
import { type Column, listBy, noResult, type Result, record, text } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { openWithDefault } from '../open-program.ts';
import { playbackRows, probeRows } from './playback-rows.ts';
import { probePlayback } from './probe.ts';

/** Exclusive modes, those with a short form first, so that an error names the other one. */
const outputModes = ['url', 'web', 'probe'] as const;
const commandsOfModes = { url: 'mediactl share ID', web: 'mediactl open ID', probe: 'mediactl play ID --probe' };

type PlayFlags = FlagsOf<typeof addPlayOptions>;

type PlayRequest = Pick<PlayFlags, 'newest' | 'stream' | 'tokenFile'> & {
  id: string | undefined;
  /** Undefined to show all URLs. */
  mode: (typeof outputModes)[number] | undefined;
};

/** Request for a URL of each of several assets, given by ids or on stdin. */
type ShareRequest = Pick<PlayFlags, 'newest' | 'stream'> & { ids: readonly string[] };

export const play: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl play @last',
    'mediactl play @last --url',
    'mediactl share @last /Campaigns/2026/intro',
    'mediactl share /Campaigns/2026/intro --json',
    'mediactl open @last',
    'mediactl play @last --probe',
    'mpv "$(mediactl play @last --url)"',
    'mediactl play UID --token-file token.txt --url',
  );
  addPlayOptions(command).action(
    run((context, ids, flags) => {
      const request = parsePlayRequest(ids, flags);
      return 'ids' in request ? runShare(context, request) : runPlay(context, request);
    }),
  );
};

const addPlayOptions = (command: Command) =>
  command
    .description(
      `Prints the signed playback URLs of an asset. For a video, HLS comes first, then the source file. Anyone who has a URL can play the asset until it expires, usually after ${playbackHours} hours; the API cannot make it last longer. To copy it: mediactl share ID | pbcopy (xclip or wl-copy on Linux). Exits with 12 if the asset cannot be played.`,
    )
    .argument('[id...]', `${idHelp}; with --url several, or - for stdin`)
    .option('--url', 'print only the best URL; stderr says when it expires')
    .option('--probe', 'fetch the first bytes of the media and report what is broken')
    .option('--web', 'open a page that plays it in the browser')
    .addOption(new Option('--stream <kind>', 'rendition of a video to play').choices(['hls', 'file'] as const))
    .option(...newestOption)
    .option('--token-file <file>', 'use the playback token in this file instead of an API key; - for stdin');

/** @throws CodedError `usage` (exit 2) if flags exclude each other */
function parsePlayRequest(ids: readonly string[], flags: PlayFlags): PlayRequest | ShareRequest {
  const [mode, other] = outputModes.filter((each) => flags[each] !== undefined);
  if (mode && other)
    throw usageError(`--${other} cannot be used with ${mode === 'url' ? 'share' : 'open'}`, commandsOfModes[other]);
  const [id, second] = ids;
  const isShared = mode === 'url' && flags.tokenFile === undefined;
  if (isShared && (second !== undefined || id === '-')) return { ...flags, ids };
  if (second !== undefined)
    throw usageError(
      `${ids.length} assets were given, and only share takes several`,
      `mediactl share ${ids.map(quoteForShell).join(' ')}, for a URL of each`,
    );
  if (flags.tokenFile !== undefined && id === undefined)
    throw usageError('--token-file needs the uid of the asset', 'mediactl play UID --token-file FILE');
  return { ...flags, id, mode };
}

/** Prints a URL of each asset, one per line, in the order in which they were given. */
async function runShare(context: Context, { ids, newest, stream }: ShareRequest): Promise<CommandOutcome> {
  const { assets } = await select(context, { collection: 'assets', ids, purpose: 'share' }, { newest });
  const results = await runEach(
    assets,
    async ({ uid }) => {
      const playback = await fetchPlayback(context, uid);
      const api = await context.api();
      await assertNotBlocked(api, uid, playback);
      const [best] = await choosePlayables(context, api, { mode: 'url', stream }, { uid, ...playback });
      return toUrlRecord(uid, best);
    },
    context,
  );
  const failures = results.flatMap(({ item, error }) => error?.withSubject(item.uid) ?? []);
  const problem = `${failures.length} of ${assets.length} assets cannot be shared`;
  const shared = results.flatMap(({ value }) => value ?? []);
  if (shared.length > 0) tellExpiry(context, shared);
  return {
    result: listBy(({ url }) => url, shared, urlColumns, ''),
    failure: combineFailures(assets.length, problem, failures),
  };
}

const urlColumns: Column<OutputRecord<'playback-urls'>>[] = [{ field: 'url', noTruncate: true }];

async function runPlay(context: Context, request: PlayRequest) {
  const { mode } = request;
  const { uid, ...playback } = await resolveSource(context, request);
  // A token from a file needs no API key, and then the asset's record cannot be read.
  const api = await (playback.player ? context.api() : context.mediaApi());
  await assertNotBlocked(api, uid, playback);
  const found = await choosePlayables(context, api, request, { uid, ...playback });
  const [best] = found;
  if (mode === 'url') return urlResult(context, uid, best);
  if (mode === 'probe') return probeResult(context, uid, best);
  if (mode === undefined) return record(playback.info, uid, (shown, render) => playbackRows(shown, found, render));
  if (context.isDryRun(`open a page that plays ${best.url.origin}${best.url.pathname}`)) return noResult;
  return text(await openAsPage(context, uid, playback));
}

/** Prints a URL, and on stderr when it expires. */
function urlResult(context: Context, uid: string, playable: PlayableUrl): Result {
  const shown = toUrlRecord(uid, playable);
  tellExpiry(context, [shown]);
  return record(shown, shown.url, () => `${shown.url}\n`);
}

const toUrlRecord = (uid: string, { url, expiresAt }: PlayableUrl): OutputRecord<'playback-url'> => ({
  asset_uid: uid,
  url: url.href,
  expires_at: asText(expiresAt) ?? null,
});

/** Tells when a URL expires; of several, the first one of which it is known. */
function tellExpiry({ clock, terminal }: Context, urls: readonly OutputRecord<'playback-url'>[]): void {
  const times = urls.flatMap(({ expires_at }) => parseTimestamp(expires_at) ?? []);
  const expiry = times.length > 0 ? Math.min(...times) : undefined;
  const expires_at = urls.find((each) => parseTimestamp(each.expires_at) === expiry)?.expires_at ?? null;
  const link = urls.length > 1 ? 'the first of these links' : 'this link';
  const when = `${relativeTime(expires_at, clock.now())} (${expires_at})`;
  const until = 'Until then, anyone who has it can play the asset. The API cannot make it last longer.';
  if (expiry === undefined) terminal.info(`the service does not say when ${link} expires. ${until}`);
  else if (expiry > clock.now()) terminal.info(`${link} expires ${when}. ${until}`);
  else terminal.warn(`${link} expired ${when}, by the clock of this machine: mediactl doctor, to compare the clocks`);
}

/** Returns the URLs that fit the request, the best first. @throws CodedError `nothing_to_play` without any */
async function choosePlayables(
  context: Context,
  api: Api,
  { mode, stream }: Pick<PlayRequest, 'mode' | 'stream'>,
  { uid, ...playback }: ResolvedPlayback & { uid: string },
): Promise<[PlayableUrl, ...PlayableUrl[]]> {
  const playables = parsePlayables(playback.info, api.transport.baseUrl);
  const { urls, isSorted } = playables;
  const [best, ...others] = urls.filter(({ kind }) => [kind, undefined].includes(stream));
  if (!best) {
    const error = nothingToPlayError(uid, playback.info, playables, stream);
    throw await explainUnplayable(api, uid, playback, error);
  }
  if (mode !== undefined && best.kind === 'image' && !isSorted)
    context.terminal.warn('cannot tell which image is the largest; using the first one');
  return [best, ...others];
}

async function resolveSource(
  context: Context,
  { id, tokenFile, newest }: PlayRequest,
): Promise<ResolvedPlayback & { uid: string }> {
  if (id !== undefined && tokenFile !== undefined) {
    const { baseUrl } = (await context.mediaApi()).transport;
    const uid = expandUidPrefix(context, baseUrl, 'asset', id) ?? id;
    return { uid, info: await fetchPlaybackByToken(context, uid, tokenFile) };
  }
  const uid = await resolveSharedUid(context, 'assets', id, { newest });
  return { uid, ...(await fetchPlayback(context, uid)) };
}

async function probeResult(context: Context, uid: string, playable: PlayableUrl) {
  const { playback } = await context.mediaApi();
  const report = { asset_uid: uid, ...(await probePlayback(playback, playable)) };
  const broken = report.steps.find(({ ok }) => !ok);
  return {
    result: record(report, uid, probeRows),
    failure:
      broken &&
      new CodedError(`asset ${uid} cannot be played: the ${broken.step.replaceAll('_', ' ')} is broken`, {
        code: 'playback_broken',
        reason: broken.error ?? undefined,
        hint: `mediactl get ${uid}, to see its status`,
        details: broken,
      }),
  };
}

/** Retention of web pages, whose signed URLs expire. */
const pageRetentionMs = 24 * 60 * 60 * 1000;

/** Opens a page that plays the asset. Its file has mode 0600, because it contains signed URLs. */
async function openAsPage(context: Context, uid: string, { info, player }: ResolvedPlayback): Promise<string> {
  // Without a player response there is only a playback token, which cannot read the asset.
  const asset: AssetRecord = player ? await (await context.api()).assets.get(uid) : { uid };
  const { html } = renderWatchPage({
    title: asText(asset.name) ?? uid,
    info,
    config: player?.player_config,
    poster: asset.thumbnail_url,
    contentType: asText(asset.content_type),
    description: asset.description,
    tags: asset.tags,
    status: asset.status,
    reason: failureReason(asset),
    baseUrl: (await context.mediaApi()).transport.baseUrl,
    duration: asset.duration,
    scripts: await readWatchScripts(context.host.scriptFolder),
    isSelfContained: true,
  });
  const folder = join(context.stateDir, 'watch');
  const path = join(folder, `${encodeURIComponent(uid)}.html`);
  await sweep(folder, context.clock.now());
  await writeStateFile(path, html);
  // A failure is ignored, because the user can open the page on another machine.
  await openWithDefault(context, pathToFileURL(path));
  return path;
}

/** Removes old pages. Runs before a new one is written, which a wrong clock would make old. */
async function sweep(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (now - (await stat(path)).mtimeMs > pageRetentionMs) await rm(path, { force: true });
  }
}
