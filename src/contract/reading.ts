/**
 * Lenient readers for JSON sent by a service. Each accepts any value and returns the expected type or a
 * fallback, since services may send `null` or other types.
 */

/** A JSON object with unknown fields. */
export type Fields = { [field: string]: unknown };

/** Random marker of exact numbers during stringification, which cannot collide with service data. */
const mark = `exact-${Math.random().toString(36).slice(2)}-`;

/** A number too long for a double, stored as its digits. It is passed through, never used in arithmetic. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toJSON(): string {
    return mark + this.digits;
  }

  toString(): string {
    return this.digits;
  }
}

/** Serializes a value as JSON. An `ExactNumber` is written with its original digits. */
export function toJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text?.includes(mark) ? text.replace(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1') : text;
}

/** Returns a string as it is, and numbers and booleans as JSON writes them. Returns undefined for anything else. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value instanceof ExactNumber ? value.digits : undefined;
}

/** Returns a finite number, also from a decimal string. Returns undefined for anything else. */
export function numberIn(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Returns an array as it is, and an empty one for anything else. */
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

/** Returns an object as it is, and an empty one for anything else. */
export const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

/** Parses a timestamp, ISO 8601 or Unix seconds, to milliseconds since the epoch. */
export function timeIn(value: unknown): number | undefined {
  const seconds = numberIn(value);
  const at = seconds === undefined ? Date.parse(textIn(value) ?? '') : seconds * 1000;
  // The largest date that JavaScript can represent.
  return Number.isNaN(at) || Math.abs(at) > 8.64e15 ? undefined : at;
}

/** Parses JSON. Returns undefined if the text is not valid JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Normalizes a name for comparison, since services trim names and may change the Unicode form of accents. */
export const comparableName = (name: string) => name.trim().normalize('NFC');
