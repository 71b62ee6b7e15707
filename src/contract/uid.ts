/** "Identifiers named uid are UUID strings." (§1) In either case, with or without dashes. */
export const isUid = (text: string) =>
  /^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(text);

/** The beginning of one, as it is written: six digits or more. */
export const isUidPrefix = (text: string) =>
  text.length < 36 && /^[0-9a-f]{6,8}$|^[0-9a-f]{8}(-[0-9a-f]{0,4}){1,4}[0-9a-f]*$/i.test(text);

/** What two spellings of one uid have in common. */
export const uidKey = (uid: string) => uid.toLowerCase().replaceAll('-', '');

export const isSameUid = (one: string, other: string) => uidKey(one) === uidKey(other);
