import { ArgumentError } from '../options.ts';
import { type ErrorStatus, errorStatuses } from '../service-error.ts';

/** A fault to inject, such as `cut-after=20MiB,times=2`. */
export type Fault = FaultAction & {
  /** The fault as entered on the command line. */
  spec: string;
  /** Path prefix of the requests that the fault affects, with or without the API prefix. */
  path?: string | undefined;
  method?: string | undefined;
  /** Maximum number of times that the fault fires; Infinity if it has no limit. */
  times: number;
};

/** Behavior of a fault, with its parsed value. */
type FaultAction = {
  [Name in FaultName]: { name: Name } & NonNullable<ReturnType<(typeof faultKinds)[Name]['parse']>>;
}[FaultName];

const faultFilters = {
  path: { usage: 'path=/PATH', pattern: /^\/\S*$/ },
  method: { usage: 'method=METHOD', pattern: /^(?:GET|HEAD|POST|PATCH|DELETE)$/ },
  times: { usage: 'times=NUMBER', pattern: /^[1-9]\d{0,8}$/ },
} as const;

type FaultKind = {
  usage: string;
  filters: readonly (keyof typeof faultFilters)[];
  /** Parses the value, which is empty if there is none. Returns undefined if it is invalid. */
  parse(value: string): object | undefined;
};

const withoutValue = (value: string) => (value === '' ? {} : undefined);

const byteUnits: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

function parseSize(value: string): { bytes: number } | undefined {
  const [, amount, unit = 'B'] = /^(\d{1,12})(B|KiB|MiB|GiB)?$/.exec(value) ?? [];
  return amount === undefined ? undefined : { bytes: Number(amount) * (byteUnits[unit] as number) };
}

const timeUnits: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function parseDuration(value: string): { delayMs: number } | undefined {
  const [, amount, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(value) ?? [];
  return amount === undefined ? undefined : { delayMs: Number(amount) * (timeUnits[unit] as number) };
}

function parseStatus(value: string): { status: ErrorStatus } | undefined {
  const status = errorStatuses.find((each) => String(each) === value);
  return status && { status };
}

const faultKinds = {
  'cut-after': { usage: 'cut-after=SIZE', filters: ['path', 'times'], parse: parseSize },
  'silent-after': { usage: 'silent-after=SIZE', filters: ['path', 'times'], parse: parseSize },
  status: { usage: `status=${errorStatuses.join('|')}`, filters: ['path', 'method', 'times'], parse: parseStatus },
  latency: { usage: 'latency=DURATION', filters: ['path', 'method', 'times'], parse: parseDuration },
  'expire-sessions': { usage: 'expire-sessions', filters: ['times'], parse: withoutValue },
  'bad-checksum': { usage: 'bad-checksum', filters: ['times'], parse: withoutValue },
  'no-checksum': { usage: 'no-checksum', filters: ['times'], parse: withoutValue },
  'lost-answer': { usage: 'lost-answer', filters: ['path', 'method', 'times'], parse: withoutValue },
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof faultKinds;
export const faultNames = Object.keys(faultKinds) as FaultName[];

const usageOf = ({ usage, filters }: FaultKind) =>
  usage + filters.map((key) => `[,${faultFilters[key].usage}]`).join('');

/**
 * Parses a fault in the format `NAME[=VALUE][,KEY=VALUE]…`.
 * @throws ArgumentError with a one-line message that names the invalid part and the valid usage
 */
export function parseFault(spec: string): Fault {
  const createError = (why: string) => new ArgumentError(`--fault '${spec}': ${why}`);
  const [first = '', ...rest] = spec.split(',');
  const [name, value] = splitAtEquals(first);
  const kind: FaultKind | undefined = Object.hasOwn(faultKinds, name) ? faultKinds[name as FaultName] : undefined;
  const usages = Object.values(faultKinds).map(({ usage }) => usage);
  if (!kind) throw createError(`unknown fault '${name}'; the faults are ${usages.join(', ')}`);
  const misread = (part: string) => createError(`invalid '${part}'; the format is ${usageOf(kind)}`);
  const action = first.endsWith('=') ? undefined : kind.parse(value);
  if (!action) throw misread(first);
  const filters: Partial<Record<keyof typeof faultFilters, string>> = {};
  for (const part of rest) {
    const [key, text] = splitAtEquals(part);
    const filter = kind.filters.find((each) => each === key);
    if (!filter || filters[filter] !== undefined || !faultFilters[filter].pattern.test(text)) throw misread(part);
    filters[filter] = text;
  }
  const { times = Number.POSITIVE_INFINITY, ...target } = filters;
  return { name: name as FaultName, ...action, spec, ...target, times: Number(times) } as Fault;
}

/** Splits at the first `=` into a key and a value. The value can contain further `=` characters. */
function splitAtEquals(part: string): [string, string] {
  const [key = '', ...rest] = part.split('=');
  return [key, rest.join('=')];
}
