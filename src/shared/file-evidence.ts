import type { KeptOutcome } from './upload-outcomes.ts';

type CheckRow = { counts: 'match' | 'difference' | 'not_compared'; meaning: string };

/** Outcomes of `check` for a file. */
export const checkOutcomes = {
  match: { counts: 'match', meaning: 'the folder has the file, as the evidence shows' },
  missing_remotely: { counts: 'difference', meaning: 'the folder has no asset for the file' },
  changed: { counts: 'difference', meaning: 'the file has changed since it was uploaded or downloaded' },
  different: { counts: 'difference', meaning: 'its asset, or the one of its name, has other bytes' },
  same_name: {
    counts: 'not_compared',
    meaning: 'an asset has its name, but was not compared, so that a sync sends the file',
  },
  renamed: { counts: 'difference', meaning: 'the file was renamed or moved, and its asset not yet' },
  moved: { counts: 'difference', meaning: 'its asset was moved out of the folder' },
  failed: { counts: 'difference', meaning: 'its asset could not be processed' },
  unverified: { counts: 'not_compared', meaning: 'its asset was not compared, and a sync keeps it' },
  missing_locally: { counts: 'difference', meaning: 'an asset of the folder is of no file' },
} as const satisfies Record<string, CheckRow>;

export type CheckOutcome = keyof typeof checkOutcomes;

export const checkOutcomeNames = Object.keys(checkOutcomes) as CheckOutcome[];

type EvidenceRow = {
  /** Whether the file and the asset have the same content. */
  content: 'same' | 'unknown' | 'other';
  /** Outcome of a file that `upload` or `sync` keeps for it. */
  kept: KeptOutcome;
  /** Outcome of `check`; it agrees with what a sync does with the file. */
  check: CheckOutcome;
  meaning: string;
};

const same = { content: 'same', kept: 'skipped', check: 'match' } as const;
const uncompared = { content: 'unknown', kept: 'same_name_and_size', check: 'unverified' } as const;
const namesake = { kept: 'exists', check: 'same_name' } as const;

/**
 * What shows that a file and an asset of its folder are the same, strongest first; then what shows that they are not. The
 * answers of `upload`, `sync`, `check` and `--prune` come from here: an asset that a newer one replaces is pruned once the
 * content of that is known to be the same as the file's.
 */
export const evidenceKinds = {
  bytes: { ...same, meaning: 'the asset was downloaded and has the same bytes' },
  checksum: { ...same, meaning: 'the record of the asset shows the same checksum' },
  upload: { ...same, meaning: 'this machine uploaded the file, and the service returned its checksum' },
  download: { ...same, meaning: 'this machine downloaded the file from the asset, as it was uploaded' },
  unconfirmed: {
    ...same,
    check: 'unverified',
    meaning: 'this machine uploaded the file, and the service returned no checksum',
  },
  rendition: { ...uncompared, meaning: 'this machine downloaded the file, which may be a rendition of the asset' },
  name_and_size: { ...uncompared, meaning: 'the asset has its name and size' },
  same_content: {
    content: 'same',
    kept: 'duplicate',
    check: 'missing_remotely',
    meaning: 'the same content was uploaded under another name',
  },
  name: { content: 'unknown', ...namesake, meaning: 'the asset has its name' },
  incomplete: {
    content: 'unknown',
    ...namesake,
    meaning: 'the asset has its name, and has failed or may lack bytes',
  },
  contradicted: {
    content: 'other',
    kept: 'exists',
    check: 'different',
    meaning: 'the asset has its name and other bytes',
  },
  changed: {
    content: 'other',
    kept: 'exists',
    check: 'changed',
    meaning: 'the file has changed since it was uploaded or downloaded',
  },
  none: { content: 'unknown', kept: 'exists', check: 'missing_remotely', meaning: 'nothing is known' },
} as const satisfies Record<string, EvidenceRow>;

export type EvidenceKind = keyof typeof evidenceKinds;

export const evidenceNames = Object.keys(evidenceKinds) as EvidenceKind[];

/** Evidence by which a file has an asset of its own. */
const own = evidenceNames.filter((kind) => ['skipped', 'same_name_and_size'].includes(evidenceKinds[kind].kept));

/**
 * Evidence with which a file is not sent, by what counts as uploaded already (`--existing`):
 *
 * - `content`: the same content in the folder
 * - `file`: the file itself
 * - `name`: an asset of the folder with the file's name, even if its content differs
 * - `anywhere`: the same content in any folder
 * - `upload`: nothing, so that each file is sent as a new asset
 */
const keptBy = {
  content: [...own, 'same_content'],
  file: own,
  name: [...own, 'name', 'contradicted', 'changed'],
  anywhere: [...own, 'same_content'],
  upload: [],
} as const satisfies Record<string, readonly EvidenceKind[]>;

/** What counts as uploaded already: it chooses rows of the table above. */
export type Existing = keyof typeof keptBy;

export const existingChoices = Object.keys(keptBy) as Existing[];

/** Returns true if a file is not sent with this evidence. */
export const isKept = (existing: Existing, kind: EvidenceKind): boolean =>
  (keptBy[existing] as readonly EvidenceKind[]).includes(kind);
