import { usageError } from '../client/errors.ts';

export type QueueAddress = {
  /** Connection URL, including the password. */
  href: string;
  /** Name of the queue; one store can hold several. */
  name: string;
  /** Address for display, without user and password. */
  label: string;
  hasPassword: boolean;
};

const defaultQueueName = 'mediactl';

/** Parses the address of a queue. @throws CodedError (exit 2) if the address or the queue name is not valid */
export function parseQueueAddress(option: string, text: string): QueueAddress {
  const isRedisUrl = /^rediss?:\/\//i.test(text) && URL.canParse(text) && isDecodable(text);
  const url = isRedisUrl ? new URL(text) : undefined;
  if (!url || !/^\/?\d{0,3}$/.test(url.pathname) || url.search)
    throw usageError(
      `${option}: invalid queue URL`,
      'use redis://HOST or rediss://HOST of a Redis or Valkey server; append #NAME to name one of several queues',
    );
  const name = decodeURIComponent(url.hash.slice(1)) || defaultQueueName;
  if (!/^[\w.-]{1,100}$/.test(name))
    throw usageError(`${option}: invalid queue name '${name}'`, 'use letters, digits, dots, dashes and underscores');
  const hasPassword = url.password !== '';
  url.hash = '';
  const { href } = url;
  url.username = url.password = '';
  const nameSuffix = name === defaultQueueName ? '' : `#${name}`;
  return { href, name, hasPassword, label: `${url.href.replace(/\/$/, '')}${nameSuffix}` };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
