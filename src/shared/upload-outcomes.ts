/** Facts about an outcome, and its words for people. */
type OutcomeRow = {
  /** True if this run has sent the file: to the service or, if it is queued, to the workers. */
  isSent: boolean;
  /** True if the service has the whole file. */
  isThere: boolean;
  /** True if the content is known to be that of the asset, which can also be verified. */
  isCompared: boolean;
  /** Explanation for JSON Schemas. */
  meaning: string;
  /** Words after a number of files, in the summary of a run. */
  summary: string;
  /** Words for one file. A name, an id or an error may follow; empty if the rest says it. */
  result: string;
};

const sent = { isSent: true, isThere: true, isCompared: true } as const;
const same = { isSent: false, isThere: true, isCompared: true } as const;
const similar = { isSent: false, isThere: true, isCompared: false } as const;
const handedOver = { isSent: true, isThere: false, isCompared: false } as const;
const missing = { isSent: false, isThere: false, isCompared: false } as const;

const uncompared = 'same name and size, not compared';
const leftOut = 'an unfinished or deleted file of another program, or one of mediactl itself';
const busy = 'being uploaded by another run';

/** Outcomes of one file of a run, in the order in which its summary counts them. */
export const uploadOutcomes = {
  uploaded: { ...sent, meaning: 'by this run', summary: 'uploaded', result: '' },
  skipped: { ...same, meaning: 'uploaded before', summary: 'already uploaded', result: 'already uploaded' },
  moved: { ...same, meaning: 'renamed or moved, and its asset too', summary: 'renamed', result: 'renamed' },
  updated: { ...same, meaning: 'uploaded before, with new metadata now', summary: 'updated', result: 'updated' },
  duplicate: {
    ...same,
    meaning: 'the same content was uploaded before',
    summary: 'skipped: duplicate content',
    result: 'skipped: duplicate of',
  },
  same_name_and_size: {
    ...similar,
    meaning: 'as an asset in the folder, which was not compared',
    summary: uncompared,
    result: uncompared,
  },
  exists: {
    ...similar,
    meaning: 'an asset has its name, with --existing name',
    summary: 'skipped: same name',
    result: 'skipped: same name',
  },
  left_out: { ...missing, meaning: `${leftOut}, which left_by names`, summary: 'left out', result: 'left out' },
  busy: { ...missing, meaning: 'another run is uploading it', summary: busy, result: busy },
  queued: { ...handedOver, meaning: 'for a worker', summary: 'queued', result: 'queued as' },
  failed: { ...missing, meaning: 'see error', summary: 'failed', result: 'failed' },
  interrupted: { ...missing, meaning: 'stopped before its end', summary: 'not finished', result: 'not finished' },
} as const satisfies Record<string, OutcomeRow>;

/** Outcome of one file of a run. See `uploadOutcomes` for what each means. */
export type UploadOutcome = keyof typeof uploadOutcomes;

type OutcomeWith<Facts> = {
  [Name in UploadOutcome]: (typeof uploadOutcomes)[Name] extends Facts ? Name : never;
}[UploadOutcome];

/** Outcome of a file that the service has. */
export type SuccessOutcome = OutcomeWith<{ isThere: true }>;

/** Outcome of a file that the service has, and that this run has not sent. */
export type KeptOutcome = OutcomeWith<{ isThere: true; isSent: false }>;

export const outcomeNames = namesOf(uploadOutcomes);

export const keptOutcomes = outcomeNames.filter((name): name is KeptOutcome => {
  const { isThere, isSent } = uploadOutcomes[name];
  return isThere && !isSent;
});

/** Facts about an outcome that a preview predicts, and its words for people. */
type PlannedRow = {
  /** True if the run would send the file. */
  isSent: boolean;
  meaning: string;
  /** Words after a number of files, in a plan. */
  plan: string;
};

/** Returns the row of a file that the run would not send, with the words of its summary unless others say what is to come. */
const kept = (outcome: KeptOutcome | 'left_out', plan: string = uploadOutcomes[outcome].summary) =>
  ({ isSent: false, meaning: uploadOutcomes[outcome].meaning, plan }) as const;

/** Outcomes that a preview predicts, in the order of its table. */
export const plannedOutcomes = {
  skipped: kept('skipped'),
  moved: kept('moved'),
  updated: kept('updated', 'to update'),
  new: { isSent: true, meaning: 'to be uploaded', plan: 'new' },
  changed: { isSent: true, meaning: 'to be uploaded as another asset', plan: 'changed' },
  resumed: { isSent: true, meaning: 'the rest of an unfinished upload', plan: 'to resume' },
  duplicate: kept('duplicate'),
  same_name_and_size: kept('same_name_and_size'),
  exists: kept('exists'),
  deleted: { isSent: false, meaning: 'an asset whose file is gone', plan: 'to the trash' },
  left_out: kept('left_out'),
} as const satisfies Record<KeptOutcome | 'new' | 'changed' | 'resumed' | 'deleted' | 'left_out', PlannedRow>;

/** Predicted outcome of a file, or of an asset whose file is gone. See `plannedOutcomes` for what each means. */
export type PlannedOutcome = keyof typeof plannedOutcomes;

export const plannedNames = namesOf(plannedOutcomes);

/** Describes the outcomes of a table for a JSON Schema, such as `busy: another run is uploading it; …`. */
export const describeOutcomes = (rows: Record<string, { meaning: string }>): string =>
  Object.entries(rows)
    .map(([name, { meaning }]) => `${name}: ${meaning}`)
    .join('; ');

function namesOf<Name extends string>(rows: Record<Name, unknown>): Name[] {
  return Object.keys(rows) as Name[];
}
