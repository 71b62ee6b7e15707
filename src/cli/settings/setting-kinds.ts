import { usageError } from '../../client/errors.ts';
import { type NameKey, type NameOverrides, nameKeys } from '../../contract/assumptions.ts';
import { isUid } from '../../contract/uid.ts';
import { parseQueueAddress, type QueueAddress } from '../../queue/queue-address.ts';
import { parseDuration } from './units.ts';

/** Value type of a setting, with the function that parses and validates its text. */
export type SettingKind<T, Unset = undefined> = {
  /**
   * Parses a value.
   *
   * @param name name of the setting for error messages
   * @throws CodedError `usage` (exit 2) if the value is invalid
   */
  parse(name: string, text: string): T;
  /** Value to use if the setting is not set. */
  unsetValue: Unset;
  /** Unit that is appended to the property's name in `Settings`. */
  suffix: '' | 'Ms';
  /** All allowed values, for shell completion. */
  choices?: readonly string[];
  /** Removes secrets from a value for display; undefined if values never contain secrets. */
  redact?: (text: string) => string;
};

export const text: SettingKind<string> = { parse: (_name, value) => value, unsetValue: undefined, suffix: '' };

export const workspaceUid: SettingKind<string> = {
  ...text,
  parse: (name, value) => {
    if (isUid(value)) return value.toLowerCase();
    throw usageError(`${name} does not accept '${value}'`, 'a uid: mediactl workspaces ls -q, to see them');
  },
};

/** A duration such as 90s, in milliseconds. */
export const duration: SettingKind<number> & { suffix: 'Ms' } = {
  parse: parseDuration,
  unsetValue: undefined,
  suffix: 'Ms',
};

/** A duration greater than zero, since a timeout of zero would abort every request at once. */
export const positiveDuration: typeof duration = {
  ...duration,
  parse: (name, value) => {
    const ms = parseDuration(name, value);
    if (ms > 0) return ms;
    throw usageError(`${name} does not accept '${value}'`, 'use a duration greater than 0, such as 30s');
  },
};

/** Returns a valid name of a field. @throws CodedError `usage` (exit 2) */
export function parseFieldName(key: NameKey, value: string): string {
  const field = key === 'embed_enabled' ? value.replace(/^!/, '') : value;
  if (!/^[A-Za-z_][\w-]*$/.test(field)) throw usageError(`'${value}' is not a valid field name`);
  return value;
}

/** Names of the service's fields, such as `asset_parent=folder,page_total=n`. */
export const fieldNames: SettingKind<NameOverrides> = {
  parse: (name, value) =>
    Object.fromEntries(
      value.split(',').map((pair) => {
        const [, key = '', field = ''] = /^\s*(\w+)=(.*?)\s*$/.exec(pair) ?? [];
        const known = nameKeys.find((each) => each === key);
        if (!known)
          throw usageError(`${name} does not accept '${pair}'`, `KEY=FIELD, with a KEY of ${nameKeys.join(', ')}`);
        return [known, parseFieldName(known, field)];
      }),
    ),
  unsetValue: undefined,
  suffix: '',
};

/** A boolean, one of 1, true, 0 and false. Other values such as `off` are rejected. */
export const onOrOff: SettingKind<boolean, false> & { suffix: '' } = {
  parse: (name, value) => ['1', 'true'].includes(parseOneOf(name, ['1', 'true', '0', 'false'], value)),
  unsetValue: false,
  suffix: '',
};

export const oneOf = <const T extends string>(choices: readonly T[]) =>
  ({
    parse: (name: string, value: string): T => parseOneOf(name, choices, value),
    unsetValue: undefined,
    suffix: '',
    choices,
  }) as const;

/** Type of the `--debug` setting. `http` also prints a trace of every request. */
export const debugLevel: SettingKind<false | 'on' | 'http', false> & { suffix: '' } = {
  parse: (name, value) => {
    const level = parseOneOf(name, ['on', 'http', '1', 'true', '0', 'false', 'off'], value);
    return level === 'http' ? 'http' : ['on', '1', 'true'].includes(level) && 'on';
  },
  unsetValue: false,
  suffix: '',
};

/** Rejects a password in argv, which other users can read. @throws CodedError `usage` (exit 2) */
export function assertNoPassword(where: string, { hasPassword }: QueueAddress): void {
  if (!hasPassword) return;
  throw usageError(
    `${where} would show the password to other users of this machine`,
    'export MEDIACTL_QUEUE, or save it: mediactl config set queue - < FILE',
    'other users can read process arguments',
  );
}

/** The address of a queue, displayed without its password. */
export const queueAddress: SettingKind<QueueAddress> & { suffix: ''; redact(text: string): string } = {
  parse: parseQueueAddress,
  unsetValue: undefined,
  suffix: '',
  redact: (text) => parseQueueAddress('queue', text).label,
};

function parseOneOf<T extends string>(name: string, choices: readonly T[], value: string): T {
  if ((choices as readonly string[]).includes(value)) return value as T;
  throw usageError(`${name} does not accept '${value}'`, `use one of ${choices.join(', ')}`);
}
