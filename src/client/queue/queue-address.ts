import { usageError } from '../errors.ts';

/** Where a queue of uploads is. */
export type QueueAddress = {
  store: 'redis' | 'postgres';
  /** To connect to, with its password. */
  href: string;
  /** Of the queue: a store may hold several. */
  name: string;
  /** To be shown: without user, password and options. */
  label: string;
  hasPassword: boolean;
};

const usualName = 'mediactl';

/** @param option what to call it in an error @throws MediactlError exit 2 */
export function readQueueAddress(option: string, text: string): QueueAddress {
  const [, store] = /^(redis|postgres)(?:(?<=redis)s|(?<=postgres)ql)?:\/\//i.exec(text) ?? [];
  const url = URL.canParse(text) && isDecodable(text) ? new URL(text) : undefined;
  const isPlace =
    url && (store === 'postgres' || (/^\/?\d{0,3}$/.test(url.pathname) && !url.search));
  if (!url || !store || !isPlace)
    throw usageError(
      `${option} does not accept that address`,
      'redis://HOST, rediss://HOST or postgres://HOST/DATABASE, with #NAME for one of several queues',
    );
  const name = decodeURIComponent(url.hash.slice(1)) || usualName;
  if (!/^[\w.-]{1,100}$/.test(name))
    throw usageError(
      `${option} does not accept the name '${name}' of a queue`,
      'letters, digits, dots, dashes and underscores',
    );
  const hasPassword = url.password !== '' || /password/i.test(url.search);
  url.hash = '';
  const { href } = url;
  url.username = url.password = url.search = '';
  const shown = name === usualName ? '' : `#${name}`;
  return {
    ...{ store: store as QueueAddress['store'], href, name, hasPassword },
    label: `${url.href.replace(/\/$/, '')}${shown}`,
  };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
