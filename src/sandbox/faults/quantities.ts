const powers: Record<string, number> = { B: 0, KiB: 1, MiB: 2, GiB: 3 };

/**
 * Parses a size such as `20MiB`, `512KiB`, `100B` or a plain number of bytes. Returns the size in bytes; undefined
 * if the text is invalid.
 */
export function parseBytes(text: string): number | undefined {
  const [, amount, unit = 'B'] = /^(\d{1,12})(B|KiB|MiB|GiB)?$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * 1024 ** (powers[unit] as number);
}

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration such as `200ms`, `10s`, `5m` or `1h`. Returns the duration in milliseconds; undefined if the
 * text is invalid.
 */
export function parseMilliseconds(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unitMs[unit] as number);
}
