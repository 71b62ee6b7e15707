import type { RateLimit } from '../../api/rate-limit.ts';
import { bytes } from '../../terminal/printable.ts';
import type { Column } from '../../terminal/result.ts';
import { type Count, type Plan, toSend } from '../../upload/plan.ts';
import { sessionLifetimeMs } from '../../wire/tus.ts';

/** What a plan costs, where that can be told. */
type Cost = {
  requests: number;
  /** At the limit learned, of one key; null where the service tells none. */
  hours: number | null;
  /** Requests of a window. */
  limit: number | null;
};

export type PlanRecord = {
  there: Count;
  changed: Count;
  same: Count;
  new: Count;
  requests: number;
  bytes: number;
  hours: number | null;
  limit: number | null;
  /** Files that cannot be sent within the day that their session lives. */
  outlive_sessions: number;
};

/** The specification's window: "1000 requests per hour per key by default" (§8). */
export const costOf = ({ requests }: Plan, rateLimit: RateLimit | undefined): Cost => ({
  requests,
  hours: rateLimit ? Math.round((requests / rateLimit.limit) * 10) / 10 : null,
  limit: rateLimit?.limit ?? null,
});

/** Whether a file takes longer than its session lives, by the pace that somebody asked for. */
export const outlivesSession = (sizeBytes: number, bytesPerSecond: number | undefined) =>
  bytesPerSecond !== undefined && (sizeBytes / bytesPerSecond) * 1000 > sessionLifetimeMs;

/** "100,000 files: 61,204 there, 38,790 new, 6 changed; 77,580 requests, 78 h at 1,000 an hour". */
export function planLine(plan: Plan, rateLimit: RateLimit | undefined): string {
  const { there, changed, alike, new: fresh } = plan;
  const send = toSend(plan);
  const { requests, hours, limit } = costOf(plan, rateLimit);
  const counts = [
    [there.files, 'there'],
    [fresh.files, 'new'],
    [changed.files, 'changed'],
    [alike.files, 'to be compared'],
  ] as const;
  const said = counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${number(count)} ${what}`);
  const time =
    hours !== null && limit !== null && hours >= 0.1
      ? `, ${number(hours)} h at ${number(limit)} an hour`
      : '';
  return `${number(there.files + send.files)} files: ${said.join(', ')}; ${bytes(send.bytes)}, ${number(requests)} requests${time}`;
}

export type PlanRow = { kind: string } & Count;

export const planRows = ({ there, changed, same, new: fresh }: PlanRecord): PlanRow[] => [
  { kind: 'there', ...there },
  { kind: 'new', ...fresh },
  { kind: 'changed', ...changed },
  { kind: 'same content', ...same },
];

export const planColumns: Column<PlanRow>[] = [
  { header: 'KIND', value: ({ kind }) => kind, whole: true },
  {
    header: 'FILES',
    value: ({ files }, { isTerminal }) => (isTerminal ? number(files) : String(files)),
  },
  {
    header: 'SIZE',
    value: ({ bytes: size }, { isTerminal }) => (isTerminal ? bytes(size) : String(size)),
  },
];

const number = (count: number) => count.toLocaleString('en');
