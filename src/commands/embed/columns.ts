import type { ErrorRecord } from '../../errors.ts';
import { printable } from '../../terminal/printable.ts';
import { type Column, listBy } from '../../terminal/result.ts';

/** One domain of `add`, `rm` and `sync`; `change` is null where it failed. */
export type DomainRecord = {
  domain: string;
  change: 'added' | 'removed' | null;
  error: ErrorRecord | null;
};

const sign = { added: '+', removed: '-' };

const columns: Column<DomainRecord>[] = [
  { header: ' ', value: ({ change }) => (change ? sign[change] : '!') },
  { header: 'DOMAIN', value: ({ domain }) => printable(domain), whole: true },
  {
    header: 'RESULT',
    value: ({ change, error }) => (error ? `failed: ${printable(error.message)}` : (change ?? '')),
  },
];

export const domainResult = (records: readonly DomainRecord[], empty: string) =>
  listBy(({ domain }) => domain, records, columns, empty);
