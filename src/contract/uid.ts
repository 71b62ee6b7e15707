/** Returns true for a UUID in either case, with or without dashes ("Identifiers named uid are UUID strings.", §1). */
export const isUid = (text: string) =>
  /^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(text);

/** Number of digits that a user types at least of a uid or of the id of a change. */
export const minTypedDigits = 6;

/** Returns true for the beginning of a UUID that has enough hexadecimal digits. */
export const isUidPrefix = (text: string) =>
  text.length >= minTypedDigits &&
  text.length < 36 &&
  /^[0-9a-f]{1,8}$|^[0-9a-f]{8}(-[0-9a-f]{0,4}){1,4}[0-9a-f]*$/i.test(text);

/** Returns a uid so that two texts of one are equal. Not with `replaceAll`, whose result takes four times the memory. */
export const normalizeUid = (uid: string) => uid.toLowerCase().split('-').join('');

export const isSameUid = (one: string, other: string) => normalizeUid(one) === normalizeUid(other);
