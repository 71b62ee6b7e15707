/** Lenient readers for JSON. Each returns a fallback for an unexpected type, because services might send any. */

export type JsonObject = { [field: string]: unknown };

/** Returns a string unchanged, and a number or boolean as its JSON text. Returns undefined for any other value. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** Returns a finite number, given as a number or a decimal string. Returns undefined for any other value. */
export function asNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Returns an array unchanged, and an empty array for any other value. */
export const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns an object unchanged, and an empty object for any other value. */
export const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const withoutUndefined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Field in keyof T]?: Exclude<T[Field], undefined>;
  };

/** Parses an ISO 8601 timestamp or Unix seconds. Returns milliseconds since the epoch, or undefined if invalid. */
export function parseTimestamp(value: unknown): number | undefined {
  const seconds = asNumber(value);
  const at = seconds === undefined ? Date.parse(asText(value) ?? '') : seconds * 1000;
  // 8.64e15 ms is the largest date that JavaScript can represent.
  return Number.isNaN(at) || Math.abs(at) > 8.64e15 ? undefined : at;
}

export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Normalizes a name for comparison, because services trim names and might change how accents are encoded. */
export const normalizeName = (name: string) => name.trim().normalize('NFC');
