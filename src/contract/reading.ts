/**
 * Reading what a service sent: each function takes any JSON value and gives the form that was
 * expected, or nothing. `null` is how many services say that there is none.
 */

/** Any JSON object. */
export type Fields = { [field: string]: unknown };

/** No service sends this. */
const mark = `exact-${Math.random().toString(36).slice(2)}-`;

/** A number that no double holds, as its digits: it is handed on as it came, and never reckoned with. */
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

/** JSON text of any value, exact numbers by their digits. */
export function toJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text?.includes(mark) ? text.replace(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1') : text;
}

/** A text; numbers and booleans as JSON writes them; undefined for what is none. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value instanceof ExactNumber ? value.digits : undefined;
}

/** A finite number; a decimal in a text is one too. Undefined for what is none. */
export function numberIn(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** The entries of an array; none for what is no array. */
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

/** The fields of an object; none for what is no object. */
export const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

/** Milliseconds since the epoch of a timestamp: ISO 8601, or a Unix time in seconds. */
export function timeIn(value: unknown): number | undefined {
  const seconds = numberIn(value);
  const at = seconds === undefined ? Date.parse(textIn(value) ?? '') : seconds * 1000;
  // No later date can be written.
  return Number.isNaN(at) || Math.abs(at) > 8.64e15 ? undefined : at;
}

/** What a text is as JSON; undefined where it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Services trim names, and may compose their accents: what two names have to share to be one. */
export const comparableName = (name: string) => name.trim().normalize('NFC');
