import { ArgumentError } from '../argument-error.ts';
import { type ErrorStatus, errorStatuses } from '../service-error.ts';
import { bytesOf, millisecondsOf } from './quantities.ts';

/** Names of faults without a value. */
type BareName = 'expire-sessions' | 'bad-checksum' | 'no-checksum' | 'lost-answer';

/** A fault's behavior, with its parsed value. */
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
  /** The fault as written on the command line. */
  spec: string;
  /** Path prefix of the affected requests, with or without the API prefix. */
  path?: string;
  method?: string;
  /** Maximum number of times that it fires. */
  times: number;
};

const narrowing = {
  path: { usage: 'path=/PATH', takes: /^\/\S*$/ },
  method: { usage: 'method=METHOD', takes: /^(?:GET|HEAD|POST|PATCH|DELETE)$/ },
  times: { usage: 'times=NUMBER', takes: /^[1-9]\d{0,8}$/ },
} as const;
type Narrowing = keyof typeof narrowing;

type Kind = {
  usage: string;
  narrowedBy: readonly Narrowing[];
  /** Parses the value, `''` for none; returns undefined if it is invalid. */
  read(value: string): Action | undefined;
};

const bare = (name: BareName) => (value: string) => (value === '' ? { name } : undefined);

const afterBytes = (name: 'cut-after' | 'silent-after') => (value: string) => {
  const bytes = bytesOf(value);
  return bytes === undefined ? undefined : { name, bytes };
};

const anyRequest = ['path', 'method', 'times'] as const;

const kinds: Record<FaultName, Kind> = {
  'cut-after': {
    usage: 'cut-after=SIZE',
    narrowedBy: ['path', 'times'],
    read: afterBytes('cut-after'),
  },
  'silent-after': {
    usage: 'silent-after=SIZE',
    narrowedBy: ['path', 'times'],
    read: afterBytes('silent-after'),
  },
  'rate-limit': {
    usage: 'rate-limit=NUMBER/DURATION',
    narrowedBy: [],
    read(value) {
      const [, limit, window = ''] = /^(\d{1,9})\/(\S+)$/.exec(value) ?? [];
      const windowMs = millisecondsOf(window);
      return windowMs
        ? { name: 'rate-limit', limit: Number(limit), windowSeconds: windowMs / 1000 }
        : undefined;
    },
  },
  status: {
    usage: `status=${errorStatuses.join('|')}`,
    narrowedBy: anyRequest,
    read(value) {
      const status = errorStatuses.find((each) => String(each) === value);
      return status && { name: 'status', status };
    },
  },
  latency: {
    usage: 'latency=DURATION',
    narrowedBy: anyRequest,
    read(value) {
      const delayMs = millisecondsOf(value);
      return delayMs === undefined ? undefined : { name: 'latency', delayMs };
    },
  },
  'expire-sessions': {
    usage: 'expire-sessions',
    narrowedBy: ['times'],
    read: bare('expire-sessions'),
  },
  'bad-checksum': { usage: 'bad-checksum', narrowedBy: ['times'], read: bare('bad-checksum') },
  'no-checksum': { usage: 'no-checksum', narrowedBy: ['times'], read: bare('no-checksum') },
  'no-head-length': {
    usage: 'no-head-length[=on|off]',
    narrowedBy: [],
    read: (value) =>
      ['', 'on', 'off'].includes(value)
        ? { name: 'no-head-length', isOn: value !== 'off' }
        : undefined,
  },
  'lost-answer': { usage: 'lost-answer', narrowedBy: anyRequest, read: bare('lost-answer') },
};

/** Usage of every fault, for error messages. */
const faultUsages = Object.values(kinds).map(({ usage }) => usage);

const usageOf = ({ usage, narrowedBy }: Kind) =>
  usage + narrowedBy.map((key) => `[,${narrowing[key].usage}]`).join('');

/**
 * Parses `NAME[=VALUE][,KEY=VALUE]…`.
 *
 * @throws ArgumentError with a one-line message that names the invalid part and the valid usage
 */
export function parseFault(spec: string): Fault {
  const refused = (why: string) => new ArgumentError(`--fault '${spec}': ${why}`);
  const [first = '', ...rest] = spec.split(',');
  const [name, value] = halves(first);
  const kind = Object.hasOwn(kinds, name) ? kinds[name as FaultName] : undefined;
  if (!kind) throw refused(`there is no fault '${name}'; there are ${faultUsages.join(', ')}`);
  const action = first.endsWith('=') ? undefined : kind.read(value);
  if (!action) throw refused(`'${first}' is not understood; it is written ${usageOf(kind)}`);
  const narrowed = new Map<string, string>();
  for (const part of rest) {
    const [key, text] = halves(part);
    const known = kind.narrowedBy.find((each) => each === key);
    if (!known || narrowed.has(key) || !narrowing[known].takes.test(text))
      throw refused(`'${part}' is not understood; it is written ${usageOf(kind)}`);
    narrowed.set(key, text);
  }
  const { path, method, times } = Object.fromEntries(narrowed);
  return {
    ...action,
    spec,
    ...(path !== undefined && { path }),
    ...(method !== undefined && { method }),
    times: times === undefined ? Number.POSITIVE_INFINITY : Number(times),
  };
}

/** Splits at the first `=`; the value may contain others. */
function halves(part: string): [string, string] {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}
