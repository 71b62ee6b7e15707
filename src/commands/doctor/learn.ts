import { namesIn } from '../../api/learn.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { printable } from '../../terminal/printable.ts';
import { type Column, listBy } from '../../terminal/result.ts';
import { type NameKey, nameKeys, namesFor } from '../../wire/assumptions.ts';
import { paths } from '../../wire/paths.ts';

type Learned = { key: string; name: string; was: string; changed: boolean };

const columns: Column<Learned>[] = [
  { header: 'KEY', value: ({ key }) => key, whole: true },
  { header: 'NAME', value: ({ name }) => printable(name) },
  {
    header: '',
    value: ({ changed, was }) => (changed ? `learned; was ${printable(was)}` : 'as assumed'),
  },
];

/** Reads the service's own description, and keeps the names that it tells in the profile. */
export async function learn(context: Context) {
  const account = await context.account();
  const { transport } = await context.api();
  const document = await transport
    .json({ method: 'GET', url: paths.description(), purpose: { action: 'read its description' } })
    .catch((error) => {
      throw error instanceof MediactlError && error.exitCode === exitCodes.notFound
        ? undescribed(error)
        : error;
    });
  const found = namesIn(document);
  const learned = nameKeys.flatMap((key): (Learned & { key: NameKey })[] => {
    const { [key]: name } = found;
    const was = namesFor(key, account.names)[0] as string;
    return name === undefined ? [] : [{ key, name, was, changed: name !== was }];
  });
  if (learned.length === 0)
    throw undescribed(usageError('the description names none of the fields in question'));
  const changes = learned.filter(({ changed }) => changed);
  const { name: inUse = '' } = await context.profileInUse();
  if (changes.length > 0 && !context.onlyPretends(`keep ${changes.length} names in the profile`))
    await context.profiles.update(({ profiles }) => {
      const profile = profiles[inUse];
      if (!profile)
        throw usageError('there is no profile to keep the names in', 'mediactl auth login');
      profile.names = {
        ...profile.names,
        ...Object.fromEntries(changes.map(({ key, name }) => [key, name])),
      };
    });
  return listBy(({ key }) => key, learned, columns, '');
}

const undescribed = (error: MediactlError) =>
  error.with({
    hint: 'set the names by hand: mediactl config set names.KEY NAME; docs/assumptions.md lists the keys',
  });
