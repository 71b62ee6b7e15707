import { bytes, cell, duration, printable, when } from '../../terminal/printable.ts';
import {
  type Column,
  list,
  nothing,
  type RenderContext,
  type Result,
  type Row,
  record,
} from '../../terminal/result.ts';
import { statusMeans } from '../../wire/assumptions.ts';
import { numberIn } from '../../wire/reading.ts';
import type { Asset } from '../../wire/types.ts';

const status = ({ status: value }: Asset, { colors }: RenderContext) => {
  const color = { ready: colors.green, failed: colors.red, 'in progress': colors.yellow };
  return color[statusMeans(value)](cell(value));
};

const created = ({ created_at }: Asset, { isTerminal, now }: RenderContext) =>
  isTerminal ? when(created_at, now) : cell(created_at);

/** Piped, a duration is seconds; on a terminal, minutes and seconds. What is no number stays as it came. */
function length({ duration: value }: Asset, { isTerminal }: RenderContext): string {
  const seconds = numberIn(value);
  return seconds === undefined || !isTerminal ? cell(value) : duration(seconds);
}

function sizeText({ size }: Asset, { isTerminal }: RenderContext): string {
  const count = numberIn(size);
  return count === undefined || !isTerminal ? cell(size) : bytes(count);
}

export const assetColumns: Column<Asset>[] = [
  { header: 'UID', value: ({ uid }) => printable(uid), whole: true },
  { header: 'NAME', value: ({ name }) => cell(name), least: 18 },
  { header: 'TYPE', value: ({ type }) => cell(type), least: 8 },
  { header: 'STATUS', value: status, least: 10 },
  { header: 'LENGTH', value: length, least: 7 },
  { header: 'CREATED', value: created, least: 12 },
];

/** The fields one looks for first; then whatever else the service sent. */
export function assetRows(asset: Asset, render: RenderContext): Row[] {
  const {
    uid,
    name,
    type,
    status: _status,
    duration: _duration,
    size: _size,
    created_at,
    ...rest
  } = asset;
  return [
    ['uid', printable(uid)],
    ['name', cell(name)],
    ['type', cell(type)],
    ['status', status(asset, render)],
    ['length', length(asset, render)],
    ['size', sizeText(asset, render)],
    ['created', cell(created_at)],
    ...Object.entries(rest).map(([field, value]): Row => [field.replaceAll('_', ' '), cell(value)]),
  ];
}

/** Where one was asked for, its record; where several were, a list. */
export function oneOrMany(assets: readonly Asset[], asked: number): Result {
  const [only] = assets;
  if (asked !== 1) return list([[...assets]], assetColumns, '');
  return only ? record(only, only.uid, assetRows) : nothing;
}
