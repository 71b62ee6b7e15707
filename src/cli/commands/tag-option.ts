import { Option } from '@commander-js/extra-typings';
import { usageError } from '../../client/errors.ts';
import { isSlug, toSlug } from '../../contract/slug.ts';
import { collect } from '../command.ts';

export const tagOption = <Flags extends string>(flags: Flags, description: string) =>
  new Option(flags, description).argParser(collect).default([] as string[], '');

/** @throws CodedError `usage` (exit 2) if a tag is not a slug */
export function assertSlug(option: string, tag: string): void {
  if (isSlug(tag)) return;
  throw usageError(
    `${option} does not accept '${tag}'`,
    toSlug(tag) ?? 'a slug, such as summer-2026',
    'a tag is a slug: letters a to z, digits and hyphens',
  );
}
