import type { ForeignLine, ForeignWord } from './foreign-commands.ts';

const lists = ['assets ls', 'videos ls'];
const selecting = [...lists, 'export', 'browse', 'rm', 'download', 'mv', 'tag'];

type Bound = { cannot: string; minimum: string; maximum: string; units: [unit: string, factor: string][] } & {
  use(sign: '>' | '<', value: string): string;
};

const duration: Bound = {
  cannot: 'the API cannot filter by duration',
  minimum: '--min-duration --longer-than --min-length --duration',
  maximum: '--max-duration --shorter-than --max-length',
  units: [
    ['s?', ''],
    ['m(?:in)?', ' * 60'],
    ['h', ' * 3600'],
  ],
  use: (sign, value) => `mediactl ls --all --jsonl --jq 'select(.duration and .duration ${sign} ${value}) | .uid'`,
};
const size: Bound = {
  cannot: 'the API cannot filter by size',
  minimum: '--min-size --larger-than --size',
  maximum: '--max-size --smaller-than',
  units: [
    ['[bB]?', ''],
    ['[kK](?:i[bB]?)?', ' * 1024'],
    ['[mM](?:i[bB]?)?', ' * 1048576'],
    ['[gG](?:i[bB]?)?', ' * 1073741824'],
    ['[kK][bB]', ' * 1000'],
    ['[mM][bB]', ' * 1000000'],
    ['[gG][bB]', ' * 1000000000'],
  ],
  use: (sign, value) =>
    `mediactl ls --all --jsonl --jq 'select(.size and .size ${sign} ${value}) | .uid', if the service shows sizes`,
};

const sides = ({ minimum, maximum }: Bound) => [['>', minimum] as const, ['<', maximum] as const];

const noShape = 'the API cannot filter by width and height';
const shaped = (condition: string) => `mediactl ls --all --jsonl --jq 'select(${condition}) | [.uid, .name] | @tsv'`;

/** Options for what the API cannot filter by, with their values. */
export const filterLines: readonly ForeignLine[] = [
  ...[duration, size].flatMap((bound) =>
    sides(bound).flatMap(([sign, words]) =>
      bound.units.map(([unit, factor]) => ({
        after: selecting,
        line: new RegExp(String.raw`(?:${words.replaceAll(' ', '|')})[ =](\d+(?:\.\d+)?)${unit}(?: |$)`),
        cannot: bound.cannot,
        use: bound.use(sign, `{1}${factor}`),
      })),
    ),
  ),
  {
    after: lists,
    line: /--orientation[ =](?:landscape|horizontal)\b/,
    cannot: noShape,
    use: shaped('.width > .height'),
  },
  {
    after: lists,
    line: /--(?:aspect|aspect-ratio)[ =](\d+)[:/x](\d+)(?: |$)/,
    cannot: noShape,
    use: shaped('.width and .width * {2} == .height * {1}'),
  },
  {
    after: lists,
    line: /--resolution[ =](\d+)x(\d+)(?: |$)/,
    cannot: noShape,
    use: shaped('.width == {1} and .height == {2}'),
  },
  { after: lists, line: /--(width|height)[ =](\d+)(?: |$)/, cannot: noShape, use: shaped('.{1} == {2}') },
];

/** The same options without a value, or with one in another form. */
export const filterOptions: readonly ForeignWord[] = [
  ...[
    { bound: duration, value: '60' },
    { bound: size, value: '1000000000' },
  ].flatMap(({ bound, value }) =>
    sides(bound).map(([sign, words]) => ({
      after: selecting,
      words,
      cannot: bound.cannot,
      use: bound.use(sign, value),
    })),
  ),
  { after: lists, words: '--landscape --horizontal', cannot: noShape, use: shaped('.width > .height') },
  {
    after: lists,
    words: '--orientation --aspect-ratio --aspect --portrait --vertical',
    cannot: noShape,
    use: shaped('.height > .width'),
  },
  {
    after: lists,
    words: '--width --height --resolution',
    cannot: noShape,
    use: shaped('.width == 1920 and .height == 1080'),
  },
];
