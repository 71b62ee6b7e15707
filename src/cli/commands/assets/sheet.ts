import type { AssetFilters } from '../../../client/api/assets.ts';
import { usageError } from '../../../client/errors.ts';
import { slugsOf } from '../../../contract/asset.ts';
import { statusMeans } from '../../../contract/assumptions.ts';
import { bytes, counted, duration, grouped } from '../../../contract/figures.ts';
import { numberIn, textIn } from '../../../contract/reading.ts';
import { printable } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import { type Card, contactSheet } from '../../../web/contact-sheet.ts';
import type { Context } from '../../context.ts';
import { nothing, type RenderContext, type Result, type Row, record } from '../../output/result.ts';
import { fill } from './place.ts';
import { thumbnails } from './thumbnails.ts';

/** What a list found, or finds page by page. */
export type Found = {
  pages: AsyncIterable<Asset[]> | Iterable<Asset[]>;
  /** That there are more. */
  footer: string | undefined;
  isEmpty?: boolean;
};

type Sheet = {
  path: string;
  title: string;
  /** Asked for once it is known that the page may be written. */
  find(): Promise<Found>;
};

/** What is printed of a contact sheet. */
type Written = { path: string; assets: number; missing_thumbnails: number; size_bytes: number };

/** Writes what a list finds as one page with thumbnails, for somebody who has no terminal. */
export async function writeSheet(context: Context, { path, title, find }: Sheet): Promise<Result> {
  const { terminal, clock } = context;
  if (path === '' || path === '-')
    throw usageError(`--html does not accept '${path}'`, 'name a file: --html sheet.html');
  if (context.isDryRun(`write a page of thumbnails to ${path}`)) return nothing;
  const written = await fill(context, { path, option: '--html' }, async (file) => {
    const { pages, footer } = await find();
    const found: { card: Card; url: unknown }[] = [];
    for await (const page of pages)
      for (const asset of page) found.push({ card: cardOf(asset), url: asset.thumbnail_url });
    if (footer) terminal.say(footer);
    if (found.length > fewAssets)
      terminal.say(`${grouped(found.length)} assets; fetching their thumbnails`);
    let [size_bytes, missing_thumbnails] = [0, 0];
    const write = async (text: string) => {
      const chunk = Buffer.from(text);
      size_bytes += chunk.length;
      await file.write(chunk);
    };
    const date = new Date(clock.now()).toISOString().slice(0, 10);
    const sheet = contactSheet({
      ...{ title, count: found.length, date },
      isPart: footer !== undefined,
    });
    await write(sheet.head);
    // One at a time: thousands of thumbnails are never in memory together.
    let next = 0;
    for await (const thumbnail of thumbnails(
      context,
      found.map(({ url }) => url),
    )) {
      if (!thumbnail) missing_thumbnails++;
      await write(sheet.card((found[next++] as (typeof found)[number]).card, thumbnail));
    }
    await write(sheet.foot);
    return { path, assets: found.length, missing_thumbnails, size_bytes };
  });
  if (written.missing_thumbnails > 0)
    terminal.say(
      `${grouped(written.missing_thumbnails)} of ${counted(written.assets, 'asset')} without a thumbnail`,
    );
  return record(written, path, rows);
}

/** What is done in a moment needs no words. */
const fewAssets = 50;

function cardOf({ uid, name, type, duration: length, size, status, tags }: Asset): Card {
  const [seconds, count] = [numberIn(length), numberIn(size)];
  return {
    uid: textIn(uid) ?? '',
    name: textIn(name) || (textIn(uid) ?? ''),
    type: textIn(type) ?? '',
    details: [
      ...(seconds === undefined ? [] : [duration(seconds)]),
      ...(count === undefined ? [] : [bytes(count)]),
    ],
    status: statusMeans(status) === 'ready' ? undefined : textIn(status),
    tags: slugsOf({ tags }) ?? [],
  };
}

const rows = (
  { path, assets, missing_thumbnails, size_bytes }: Written,
  { isTerminal }: RenderContext,
): Row[] => [
  ['saved', printable(path)],
  ['assets', String(assets)],
  ['missing thumbnails', String(missing_thumbnails)],
  ['size', isTerminal ? bytes(size_bytes) : String(size_bytes)],
];

/** The filters of a list, in words: `harbour, ready, since 2026-01-01`. @param folder as it was typed */
export function titleOf(filters: AssetFilters, folder: string | undefined, all: string): string {
  const { search, status, type, tag, created_after, created_before } = filters;
  const words = [
    ...[search, status, type, tag && `#${tag}`, folder && `in ${folder}`],
    ...[created_after && `since ${created_after}`, created_before && `until ${created_before}`],
  ];
  return words.filter(Boolean).join(', ') || all;
}
