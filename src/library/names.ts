import { usageError } from '../errors.ts';

/** The only record of a name, or an error that lists the candidates. */
export function onlyOne<T extends { uid: string }>(noun: string, name: string, found: T[]): T {
  const [first, ...others] = found;
  if (first && others.length === 0) return first;
  throw usageError(
    `${found.length} ${noun}s are called ${name}`,
    'give the uid of one of them',
    found.map(({ uid }) => uid).join(', '),
  );
}
