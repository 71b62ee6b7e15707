import { writeOutput } from '../../../client/download/output-file.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import type { ListScope } from '../../../client/library/workspace-in-use.ts';
import { slugsOf } from '../../../contract/asset.ts';
import { type AssetFilters, activeFilters } from '../../../contract/asset-filters.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { describeScope, formatBytes, formatCount, formatDuration, pluralize } from '../../../shared/figures.ts';
import { parseHttpUrl } from '../../../shared/http-url.ts';
import { asNumber, asText } from '../../../shared/json-values.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { type ContactSheetCard, renderContactSheet, type Thumbnail } from '../../../web/contact-sheet.ts';
import { detectImageType } from '../../../web/shared/image-type.ts';
import type { Context } from '../../context.ts';
import { outputPorts } from '../../library/transfer-ports.ts';
import { type DetailRow, noResult, type RenderContext, type Result, record } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';

export type AssetListing = {
  pages: AsyncIterable<AssetRecord[]> | Iterable<AssetRecord[]>;
  footer: string | undefined;
  /** Which workspaces the pages have, once they are read. */
  scope: ListScope;
  isEmpty?: boolean;
  /** Returns the path of an asset below the folder that is listed with its subfolders. */
  pathOf?: (asset: AssetRecord) => string;
};

/** Writes the contact sheet. @param find lists the assets; called after the output file was opened */
export async function writeSheet(
  context: Context,
  { path, title }: { path: string; title: string },
  find: () => Promise<AssetListing>,
): Promise<Result> {
  const { terminal, clock } = context;
  if (path === '' || path === '-')
    throw usageError(`--html does not accept '${path}'`, 'name a file: --html sheet.html');
  if (context.isDryRun(`write a page of thumbnails to ${path}`)) return noResult;
  const written = await writeOutput(outputPorts(context, '--html'), { path, mode: 0o600 }, async (file) => {
    const { pages, footer, scope } = await find();
    const found: { card: ContactSheetCard; url: unknown }[] = [];
    for await (const page of pages)
      for (const asset of page) found.push({ card: cardOf(asset), url: asset.thumbnail_url });
    for (const text of [footer, describeScope(scope)]) if (text) terminal.info(text);
    if (found.length > maxAssetsWithoutNotice)
      terminal.info(`${formatCount(found.length)} assets; fetching their thumbnails`);
    let [size_bytes, missing_thumbnail_count] = [0, 0];
    const write = async (text: string) => {
      const chunk = Buffer.from(text);
      size_bytes += chunk.length;
      await file.write(chunk);
    };
    const date = new Date(clock.now()).toISOString().slice(0, 10);
    const sheet = renderContactSheet({ title, count: found.length, date, hasMore: footer !== undefined });
    await write(sheet.head);
    // Written one by one, because thousands of thumbnails would not fit in memory.
    const urls = found.map(({ url }) => url);
    let next = 0;
    for await (const thumbnail of fetchThumbnails(context, urls)) {
      if (!thumbnail) missing_thumbnail_count++;
      await write(sheet.card((found[next++] as (typeof found)[number]).card, thumbnail));
    }
    await write(sheet.foot);
    return { path, asset_count: found.length, missing_thumbnail_count, size_bytes };
  });
  const missing = written.missing_thumbnail_count;
  if (missing > 0)
    terminal.info(`${formatCount(missing)} of ${pluralize(written.asset_count, 'asset')} without a thumbnail`);
  return record(written, path, rows);
}

/** Number of assets above which a notice is printed, because fetching thumbnails takes a while. */
const maxAssetsWithoutNotice = 50;

function cardOf({ uid, name, type, duration: length, size, status, tags }: AssetRecord): ContactSheetCard {
  const [seconds, count] = [asNumber(length), asNumber(size)];
  const details = [seconds === undefined ? '' : formatDuration(seconds), count === undefined ? '' : formatBytes(count)];
  return {
    uid: asText(uid) ?? '',
    name: asText(name) || (asText(uid) ?? ''),
    type: asText(type) ?? '',
    details: details.filter(Boolean),
    status: classifyStatus(status) === 'ready' ? undefined : asText(status),
    tags: slugsOf({ tags }) ?? [],
  };
}

const rows = (sheet: OutputRecord<'contact-sheet'>, { isTerminal }: RenderContext): DetailRow[] => [
  ['saved', escapeControls(sheet.path)],
  ['assets', String(sheet.asset_count)],
  ['missing thumbnails', String(sheet.missing_thumbnail_count)],
  ['size', isTerminal ? formatBytes(sheet.size_bytes) : String(sheet.size_bytes)],
];

/** Returns a title that describes the filters, such as `harbour, ready, since 2026-01-01`. */
export function titleOf(filters: AssetFilters, folder: string | undefined, all: string): string {
  const words = activeFilters({ ...filters, parent: folder }).map(({ value, title }) => title?.(value) ?? value);
  return words.join(', ') || all;
}

const maxConcurrent = 6;
const maxBytes = 2 * 1024 * 1024;
const timeoutMs = 20_000;
/** Number of consecutive connection failures after which the server counts as unreachable. */
const maxConsecutiveFailures = 2 * maxConcurrent;

/**
 * Fetches thumbnails, a few concurrently, and yields them in the order of the URLs. Yields undefined for a
 * thumbnail that cannot be fetched.
 */
async function* fetchThumbnails(context: Context, urls: readonly unknown[]): AsyncGenerator<Thumbnail | undefined> {
  const { playback, transport } = await context.mediaApi();
  const { baseUrl } = transport;
  const bounds = { maxBytes, timeoutMs, interruption: context.signal };
  let consecutiveFailures = 0;
  const fetchThumbnail = async (text: unknown): Promise<Thumbnail | undefined> => {
    const url = parseHttpUrl(text, baseUrl);
    if (!url || consecutiveFailures >= maxConsecutiveFailures || context.signal.aborted) return undefined;
    try {
      const bytes = await playback.fetchSmall(url, bounds);
      consecutiveFailures = 0;
      const mediaType = detectImageType(bytes);
      return mediaType === undefined ? undefined : { mediaType, bytes };
    } catch (error) {
      if (isUnreachable(error)) consecutiveFailures++;
      return undefined;
    }
  };
  const inFlight: Promise<Thumbnail | undefined>[] = [];
  for (const url of urls) {
    inFlight.push(fetchThumbnail(url));
    if (inFlight.length < maxConcurrent) continue;
    yield await inFlight.shift();
    context.signal.throwIfAborted();
  }
  for (const last of inFlight) yield await last;
  context.signal.throwIfAborted();
}

const isUnreachable = (error: unknown) => error instanceof CodedError && error.kind === 'unreachable';
