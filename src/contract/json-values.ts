/**
 * Lenient readers for JSON sent by a service. Each accepts any value and returns the expected type or a
 * fallback, since services may send `null` or other types.
 */

/** A JSON object with unknown fields. */
export type JsonObject = { [field: string]: unknown };

/** Random marker of exact numbers during stringification, which cannot collide with service data. */
const exactMarker = `exact-${Math.random().toString(36).slice(2)}-`;

/** A number too long for a double, stored as its digits. It is passed through, never used in arithmetic. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toJSON(): string {
    return exactMarker + this.digits;
  }

  toString(): string {
    return this.digits;
  }
}

/** Serializes a value as JSON. An `ExactNumber` is written with its original digits. */
export function toJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text?.includes(exactMarker)
    ? text.replace(new RegExp(`"${exactMarker}([^"]*)"`, 'g'), '$1')
    : text;
}

/** Returns a string as it is, and numbers and booleans as JSON writes them. Returns undefined for anything else. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value instanceof ExactNumber ? value.digits : undefined;
}

/** Returns a finite number, also from a decimal string. Returns undefined for anything else. */
export function asNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Returns an array as it is, and an empty one for anything else. */
export const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

/** Returns an object as it is, and an empty one for anything else. */
export const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Parses a timestamp, ISO 8601 or Unix seconds, to milliseconds since the epoch. */
export function parseTimestamp(value: unknown): number | undefined {
  const seconds = asNumber(value);
  const at = seconds === undefined ? Date.parse(asText(value) ?? '') : seconds * 1000;
  // The largest date that JavaScript can represent.
  return Number.isNaN(at) || Math.abs(at) > 8.64e15 ? undefined : at;
}

/** Parses JSON. Returns undefined if the text is not valid JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Normalizes a name for comparison, since services trim names and may change the Unicode form of accents. */
export const normalizeName = (name: string) => name.trim().normalize('NFC');
