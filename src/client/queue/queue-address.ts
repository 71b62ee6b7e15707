import { usageError } from '../errors.ts';

export type QueueAddress = {
  store: 'redis' | 'postgres';
  /** Connection URL, including the password. */
  href: string;
  /** Name of the queue; one store can hold several. */
  name: string;
  /** Address for display, without user, password and query. */
  label: string;
  hasPassword: boolean;
};

const defaultQueueName = 'mediactl';

/** Parses the address of a queue. @throws MediactlError (exit 2) if the address or the queue name is not valid */
export function parseQueueAddress(option: string, text: string): QueueAddress {
  const [, store] = /^(redis|postgres)(?:(?<=redis)s|(?<=postgres)ql)?:\/\//i.exec(text) ?? [];
  const url = URL.canParse(text) && isDecodable(text) ? new URL(text) : undefined;
  const isValid = url && (store === 'postgres' || (/^\/?\d{0,3}$/.test(url.pathname) && !url.search));
  if (!url || !store || !isValid)
    throw usageError(
      `${option}: invalid queue URL`,
      'use redis://HOST, rediss://HOST or postgres://HOST/DATABASE; append #NAME to name one of several queues',
    );
  const name = decodeURIComponent(url.hash.slice(1)) || defaultQueueName;
  if (!/^[\w.-]{1,100}$/.test(name))
    throw usageError(`${option}: invalid queue name '${name}'`, 'use letters, digits, dots, dashes and underscores');
  const hasPassword = url.password !== '' || /password/i.test(url.search);
  url.hash = '';
  const { href } = url;
  url.username = url.password = url.search = '';
  const nameSuffix = name === defaultQueueName ? '' : `#${name}`;
  return {
    store: store as QueueAddress['store'],
    href,
    name,
    hasPassword,
    label: `${url.href.replace(/\/$/, '')}${nameSuffix}`,
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
