/** Maps every error code to its kind. Codes are a public interface; the command line maps kinds to exit codes. */
export const errorTable = {
  // The command line
  usage: 'usage',
  declined: 'interrupted',
  interrupted: 'interrupted',
  terminated: 'terminated',
  unclassified: 'unclassified',
  partial_failure: 'partial',
  skipped: 'partial',
  list_changed: 'partial',
  list_incomplete: 'partial',
  check_failed: 'partial',
  write_failed: 'unclassified',
  port_unavailable: 'unclassified',
  invalid_folder: 'usage',
  incomplete_install: 'unclassified',

  // Accounts and settings
  not_logged_in: 'unauthenticated',
  key_origin_mismatch: 'unauthenticated',
  keychain_unavailable: 'unauthenticated',
  invalid_config: 'usage',
  insecure_config: 'unclassified',
  clock_skew: 'usage',

  // Responses of the service (§7)
  rejected: 'rejected',
  unauthenticated: 'unauthenticated',
  credits_depleted: 'quota',
  forbidden: 'forbidden',
  not_found: 'notFound',
  rate_limited: 'rateLimited',
  storage_full: 'quota',
  server_error: 'unreachable',
  unexpected_status: 'unclassified',
  invalid_response: 'unreachable',
  origin_mismatch: 'integrity',
  token_expired: 'unauthenticated',

  // The network
  unreachable: 'unreachable',
  timeout: 'unreachable',
  private_address: 'rejected',
  reserve_too_large: 'usage',

  // Assets, folders and playback
  already_exists: 'rejected',
  write_ignored: 'rejected',
  filter_ignored: 'rejected',
  tags_unknown: 'rejected',
  changed_meanwhile: 'rejected',
  cannot_undo: 'rejected',
  settings_unclear: 'rejected',
  nothing_to_play: 'unplayable',
  playback_broken: 'unplayable',
  download_changed: 'integrity',
  download_incomplete: 'integrity',
  still_processing: 'stillProcessing',
  processing_failed: 'unplayable',

  // Sources of an upload
  file_unusable: 'usage',
  file_changed: 'integrity',
  source_failed: 'unreachable',

  // An upload
  upload_in_progress: 'rejected',
  session_broken: 'unreachable',
  session_mismatch: 'integrity',
  session_unknown: 'notFound',
  checksum_mismatch: 'integrity',
  unverified: 'integrity',

  // The database of uploads and receipts
  state_unusable: 'state',
  locked: 'rejected',

  // Queue and workers
  queue_refused: 'unauthenticated',
  queue_unusable: 'usage',
  queue_unreachable: 'unreachable',
  queue_paused: 'unclassified',
  worker_paused: 'rejected',
  taken_over: 'rejected',
  attempts_exhausted: 'unclassified',
  queue_service_mismatch: 'usage',
  invalid_job: 'usage',
  outside_roots: 'usage',
  root_unusable: 'usage',

  // The sandbox
  not_running: 'notFound',
  sandbox_failed: 'unclassified',
} as const;

export type ErrorCode = keyof typeof errorTable;

/**
 * Maps each subcode to its code. A subcode tells errors of one code apart whose remedies differ for a person, but not for
 * a script: it chooses the hint, and what this program does next.
 */
export const subcodeTable = {
  planned_stop: 'interrupted',
  mkdir_failed: 'write_failed',

  conflict: 'rejected',
  invalid_request: 'rejected',

  connection_refused: 'unreachable',
  proxy_failed: 'unreachable',
  tls_failed: 'unreachable',

  not_a_file: 'file_unusable',
  unreadable_file: 'file_unusable',
  file_gone: 'file_unusable',
  source_forbidden: 'source_failed',
  source_busy: 'source_failed',

  state_full: 'state_unusable',
  state_read_only: 'state_unusable',
  state_damaged: 'state_unusable',
  state_missing: 'state_unusable',
  state_locked: 'state_unusable',
  state_newer: 'state_unusable',
  state_file_system: 'state_unusable',

  queue_tls: 'queue_unreachable',
  queue_full: 'queue_unreachable',
  queue_read_only: 'queue_unreachable',
  unsupported_job: 'invalid_job',
  root_mismatch: 'root_unusable',
} as const satisfies { readonly [subcode: string]: ErrorCode };

/** Distinguishes errors of one code. It is not shown, so it is no part of the interface. */
export type Subcode = keyof typeof subcodeTable;

const isSubcode = (cause: string): cause is Subcode => Object.hasOwn(subcodeTable, cause);

/** Returns a code as it is, and a subcode with its code. */
export const causeOf = (cause: ErrorCode | Subcode): { code: ErrorCode; subcode?: Subcode } =>
  isSubcode(cause) ? { code: subcodeTable[cause], subcode: cause } : { code: cause };

/** Category of an error. Callers act on it, and the command line derives the exit code from it. */
export type ErrorKind = (typeof errorTable)[ErrorCode];

/** Returns the kind of a code. A code that a newer mediactl wrote counts as unclassified. */
export const kindOf = (code: ErrorCode): ErrorKind => errorTable[code] ?? 'unclassified';

/** Kinds of errors after which every other item of a run would fail too. */
const runEndingKinds: readonly ErrorKind[] = [
  'unauthenticated',
  'forbidden',
  'quota',
  'rateLimited',
  'state',
  'interrupted',
  'terminated',
];

/** Codes and subcodes of other kinds after which every other item of a run would fail too. */
const runEndingCauses: readonly (ErrorCode | Subcode)[] = [
  'origin_mismatch',
  'connection_refused',
  'proxy_failed',
  'tls_failed',
  'reserve_too_large',
];

export const isRunEnding = (code: ErrorCode, subcode?: Subcode) =>
  runEndingKinds.includes(kindOf(code)) || runEndingCauses.includes(subcode ?? code);
