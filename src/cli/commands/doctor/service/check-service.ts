import { CodedError } from '../../../../client/errors.ts';
import { assumptions } from '../../../../contract/assumptions.ts';
import { errorChecks } from './error-checks.ts';
import { folderChecks } from './folder-checks.ts';
import { listChecks } from './list-checks.ts';
import { playbackChecks } from './playback-checks.ts';
import { runEnding, type ServiceProbe, Untried } from './probe.ts';
import { recordChecks } from './record-checks.ts';
import { type AssumptionCheck, type Judgment, notTried } from './verdict.ts';
import { workspaceChecks } from './workspace-checks.ts';
import { writeSteps } from './write-steps.ts';
import type { WriteTrial } from './write-trial.ts';

const checks: readonly AssumptionCheck[] = [
  ...listChecks,
  ...recordChecks,
  ...folderChecks,
  ...workspaceChecks,
  ...playbackChecks,
  ...errorChecks,
];

/** Why no request shows an assumption. */
const reasons: Readonly<Record<string, string>> = {
  A07: 'only a change of the allow-list shows it, which is not made: it is of the whole workspace',
  A33: 'only a file of known length shows it',
  A25: 'only an upload session that has expired shows it',
};

export type AssumptionJudgment = Judgment & { id: string; topic: string; sends: string | null };

/** Judges, and turns what keeps it from that into a reason. Ends early if no other request would be answered. */
function createJudge(signal: AbortSignal) {
  let stop: string | undefined;
  return async (ask: () => Promise<Judgment> | Judgment): Promise<Judgment> => {
    if (stop !== undefined) return notTried(stop);
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CodedError && runEnding.includes(error.explanation.code))
        stop = `stopped before: ${error.message}`;
      if (error instanceof CodedError || error instanceof Untried) return notTried(error.message);
      throw error;
    }
  };
}

/**
 * Judges every assumption, one after the other, by what it reads and by what a trial writes. The trial comes first, so that
 * requests are left to clean up.
 */
export async function judgeAssumptions(
  probe: ServiceProbe,
  signal: AbortSignal,
  trial?: WriteTrial,
): Promise<AssumptionJudgment[]> {
  const judge = createJudge(signal);
  const byWrites = new Map<string, Judgment>();
  for (const { id, perform } of trial ? writeSteps : [])
    byWrites.set(id, await judge(() => perform(trial as WriteTrial)));
  await trial?.clean();
  const judgments: AssumptionJudgment[] = [];
  for (const { id, topic } of assumptions) {
    const check = checks.find((each) => each.id === id);
    const step = writeSteps.find((each) => each.id === id);
    const read = check ? await judge(() => check.judge(probe)) : notTried(reasons[id] ?? 'no request shows it');
    const written = byWrites.get(id);
    const unwritten = !check && step ? notTried('only a write shows it: --write FOLDER') : read;
    const isByWrite = written && read.status !== 'does_not_hold' && (written.status !== 'not_tried' || !check);
    const sends = [check?.sends ?? [], step?.sends ?? []].flat().join('; ');
    judgments.push({ id, topic, sends: sends || null, ...(isByWrite ? written : unwritten) });
  }
  return judgments;
}
