import { ArgumentError } from '../argument-error.ts';
import { type ErrorStatus, errorStatuses } from '../service-error.ts';
import { parseBytes, parseMilliseconds } from './quantities.ts';

/** Names of the faults that take no value. */
type BareName = 'expire-sessions' | 'bad-checksum' | 'no-checksum' | 'lost-answer';

/** Behavior of a fault, with its parsed value. */
type Action =
  | { name: 'cut-after' | 'silent-after'; bytes: number }
  | { name: 'rate-limit'; limit: number; windowSeconds: number }
  | { name: 'status'; status: ErrorStatus }
  | { name: 'latency'; delayMs: number }
  | { name: 'no-head-length'; isOn: boolean }
  | { name: BareName };

export type FaultName = Action['name'];

/** A fault to inject, such as `cut-after=20MiB,times=2`. */
export type Fault = Action & {
  /** The fault as entered on the command line. */
  spec: string;
  /** Path prefix of the requests that the fault affects, with or without the API prefix. */
  path?: string;
  method?: string;
  /** Maximum number of times that the fault fires; Infinity if it has no limit. */
  times: number;
};

const faultFilters = {
  path: { usage: 'path=/PATH', takes: /^\/\S*$/ },
  method: { usage: 'method=METHOD', takes: /^(?:GET|HEAD|POST|PATCH|DELETE)$/ },
  times: { usage: 'times=NUMBER', takes: /^[1-9]\d{0,8}$/ },
} as const;
type FaultFilter = keyof typeof faultFilters;

type FaultKind = {
  usage: string;
  filters: readonly FaultFilter[];
  /** Parses the value, which is empty if there is none. Returns undefined if it is invalid. */
  parse(value: string): Action | undefined;
};

const bare = (name: BareName) => (value: string) => (value === '' ? { name } : undefined);

const afterBytes = (name: 'cut-after' | 'silent-after') => (value: string) => {
  const bytes = parseBytes(value);
  return bytes === undefined ? undefined : { name, bytes };
};

const anyRequest = ['path', 'method', 'times'] as const;

const faultKinds: Record<FaultName, FaultKind> = {
  'cut-after': {
    usage: 'cut-after=SIZE',
    filters: ['path', 'times'],
    parse: afterBytes('cut-after'),
  },
  'silent-after': {
    usage: 'silent-after=SIZE',
    filters: ['path', 'times'],
    parse: afterBytes('silent-after'),
  },
  'rate-limit': {
    usage: 'rate-limit=NUMBER/DURATION',
    filters: [],
    parse(value) {
      const [, limit, window = ''] = /^(\d{1,9})\/(\S+)$/.exec(value) ?? [];
      const windowMs = parseMilliseconds(window);
      return windowMs ? { name: 'rate-limit', limit: Number(limit), windowSeconds: windowMs / 1000 } : undefined;
    },
  },
  status: {
    usage: `status=${errorStatuses.join('|')}`,
    filters: anyRequest,
    parse(value) {
      const status = errorStatuses.find((each) => String(each) === value);
      return status && { name: 'status', status };
    },
  },
  latency: {
    usage: 'latency=DURATION',
    filters: anyRequest,
    parse(value) {
      const delayMs = parseMilliseconds(value);
      return delayMs === undefined ? undefined : { name: 'latency', delayMs };
    },
  },
  'expire-sessions': {
    usage: 'expire-sessions',
    filters: ['times'],
    parse: bare('expire-sessions'),
  },
  'bad-checksum': { usage: 'bad-checksum', filters: ['times'], parse: bare('bad-checksum') },
  'no-checksum': { usage: 'no-checksum', filters: ['times'], parse: bare('no-checksum') },
  'no-head-length': {
    usage: 'no-head-length[=on|off]',
    filters: [],
    parse: (value) =>
      ['', 'on', 'off'].includes(value) ? { name: 'no-head-length', isOn: value !== 'off' } : undefined,
  },
  'lost-answer': { usage: 'lost-answer', filters: anyRequest, parse: bare('lost-answer') },
};

/** Usage of every fault, for error messages. */
const faultUsages = Object.values(faultKinds).map(({ usage }) => usage);

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
  const kind = Object.hasOwn(faultKinds, name) ? faultKinds[name as FaultName] : undefined;
  if (!kind) throw createError(`there is no fault '${name}'; there are ${faultUsages.join(', ')}`);
  const action = first.endsWith('=') ? undefined : kind.parse(value);
  if (!action) throw createError(`'${first}' is not understood; it is written ${usageOf(kind)}`);
  const filterValues = new Map<string, string>();
  for (const part of rest) {
    const [key, text] = splitAtEquals(part);
    const filter = kind.filters.find((each) => each === key);
    if (!filter || filterValues.has(key) || !faultFilters[filter].takes.test(text))
      throw createError(`'${part}' is not understood; it is written ${usageOf(kind)}`);
    filterValues.set(key, text);
  }
  const { path, method, times } = Object.fromEntries(filterValues);
  return {
    ...action,
    spec,
    ...(path !== undefined && { path }),
    ...(method !== undefined && { method }),
    times: times === undefined ? Number.POSITIVE_INFINITY : Number(times),
  };
}

/** Splits at the first `=` into a key and a value. The value can contain further `=` characters. */
function splitAtEquals(part: string): [string, string] {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}
