import type { ForeignLine } from './foreign-commands.ts';

/** An asset beside a tag: a tag has neither a dot nor a slash. */
const anAsset = String.raw`(?!-)(?:\S*[./]\S*|@\w+|[\da-f]{8}[\da-f-]*)(?= |$)`;
const someAssets = `(${anAsset}(?: ${anAsset})*)`;
const aTag = String.raw`((?!-)(?!${anAsset})\S+)`;
const add = '(?:add|set) ';
const remove = '(?:remove|rm|delete|del) ';

const rows: readonly [line: string, use: string][] = [
  ['(?:ls|list|show)', 'mediactl stats --by tag'],
  [String.raw`(?:rename|mv) (\S+) (\S+)`, 'mediactl tag --tag {1} --add {2} --remove {1}'],
  [`${remove}${aTag}`, 'mediactl tag --tag {1} --remove {1}, for all assets that have it'],
  [`${add}${aTag} ${someAssets}`, 'mediactl tag {2} --add {1}'],
  [`${remove}${aTag} ${someAssets}`, 'mediactl tag {2} --remove {1}'],
  [String.raw`${add}(\S+) (\S+)`, 'mediactl tag {1} --add {2}'],
  [String.raw`${remove}(\S+) (\S+)`, 'mediactl tag {1} --remove {2}'],
  [String.raw`([^\s+-]\S*) \+(\S+) -(?!n$)([^\s-]\S*)`, 'mediactl tag {1} --add {2} --remove {3}'],
  [String.raw`([^\s+-]\S*) -(?!n )([^\s-]\S*) \+(\S+)`, 'mediactl tag {1} --add {3} --remove {2}'],
  [String.raw`([^\s+-]\S*) \+(\S+)`, 'mediactl tag {1} --add {2}'],
  [String.raw`-d (\S+)`, 'mediactl tag ID --remove {1}'],
  [someAssets, 'mediactl tag {1} --add TAG'],
  [`${someAssets} ${aTag}`, 'mediactl tag {1} --add {2}'],
  [`${someAssets} ${aTag} ${aTag}`, 'mediactl tag {1} --add {2},{3}'],
  [`${aTag} ${someAssets}`, 'mediactl tag {2} --add {1}'],
  [`${aTag} ${aTag}`, 'mediactl tag {1} --add {2}, if {1} is the asset'],
];

/** Words of `mediactl tag`, without the options that say what becomes of a tag. */
export const tagLines: readonly ForeignLine[] = [
  ...rows.map(([line, use]) => ({ after: ['assets tag'], line: new RegExp(`^${line}$`), use })),
  { after: [''], line: /^tags? rename (\S+) (\S+)/, use: 'mediactl tag --tag {1} --add {2} --remove {1}' },
];
