import type { NameOverrides } from '../../../../contract/assumptions.ts';
import type { ServiceProbe } from './probe.ts';

/** Result of checking an assumption. The status is `not_tried` if no response shows whether it holds. */
export type Judgment = {
  status: 'holds' | 'does_not_hold' | 'not_tried';
  /** Request and response, or the reason for sending none. Contains no values of the library, so it can be mailed. */
  detail: string;
  hint?: string | undefined;
  /** Names of fields that were found, for `--learn`. */
  names?: NameOverrides | undefined;
};

export type AssumptionCheck = {
  id: string;
  /** Requests that show it, as the report names them. */
  sends: string;
  judge(probe: ServiceProbe): Promise<Judgment> | Judgment;
};

export const holds = (detail: string): Judgment => ({ status: 'holds', detail });

export const doesNotHold = (detail: string, more: Pick<Judgment, 'hint' | 'names'> = {}): Judgment => ({
  status: 'does_not_hold',
  detail,
  ...more,
});

export const notTried = (detail: string): Judgment => ({ status: 'not_tried', detail });

/** Names of fields for a report, as the service sent them. */
export const listNames = (names: readonly string[]) =>
  names.length === 0
    ? 'nothing'
    : names
        .slice(0, 12)
        .map((name) => name.slice(0, 40))
        .join(', ');

export const typeName = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'an array' : value === undefined ? 'missing' : `a ${typeof value}`;
