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
  check_failed: 'partial',
  write_failed: 'unclassified',
  port_unavailable: 'unclassified',
  invalid_folder: 'usage',
  mkdir_failed: 'unclassified',
  incomplete_install: 'unclassified',

  // Accounts and settings
  no_base_url: 'unauthenticated',
  no_key: 'unauthenticated',
  no_profile: 'unauthenticated',
  profile_not_found: 'usage',
  key_origin_mismatch: 'unauthenticated',
  keychain_unavailable: 'unauthenticated',
  invalid_config: 'usage',
  insecure_config: 'unclassified',
  clock_skew: 'usage',

  // Responses of the service (§7)
  bad_request: 'rejected',
  unauthenticated: 'unauthenticated',
  credits_depleted: 'quota',
  forbidden: 'forbidden',
  not_found: 'notFound',
  conflict: 'rejected',
  too_large: 'rejected',
  validation_failed: 'rejected',
  rate_limited: 'rateLimited',
  storage_full: 'quota',
  server_error: 'unreachable',
  unexpected_status: 'unclassified',
  invalid_response: 'unreachable',
  origin_mismatch: 'integrity',
  token_expired: 'unauthenticated',

  // The network
  unreachable: 'unreachable',
  connection_refused: 'unreachable',
  proxy_failed: 'unreachable',
  tls_failed: 'unreachable',
  timeout: 'unreachable',
  private_address: 'rejected',
  reserve_too_large: 'usage',
  stopped_at_limit: 'rateLimited',

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
  file_not_found: 'usage',
  not_a_file: 'usage',
  unreadable_file: 'usage',
  file_missing: 'unclassified',
  file_changed: 'integrity',
  source_forbidden: 'usage',
  source_failed: 'unreachable',
  source_busy: 'unreachable',

  // An upload
  upload_in_progress: 'rejected',
  session_broken: 'unreachable',
  session_mismatch: 'integrity',
  session_unknown: 'notFound',
  checksum_mismatch: 'integrity',
  unverified: 'integrity',

  // The database of uploads and receipts
  state_full: 'state',
  state_read_only: 'state',
  state_damaged: 'state',
  state_missing: 'state',
  state_locked: 'state',
  state_newer: 'state',
  state_file_system: 'state',
  state_unusable: 'state',
  locked: 'rejected',

  // Queue and workers
  queue_refused: 'unauthenticated',
  queue_unusable: 'usage',
  queue_tls: 'unreachable',
  queue_full: 'unreachable',
  queue_read_only: 'unreachable',
  queue_unreachable: 'unreachable',
  queue_paused: 'unclassified',
  worker_paused: 'rejected',
  taken_over: 'rejected',
  attempts_exhausted: 'unclassified',
  queue_service_mismatch: 'usage',
  unsupported_job: 'usage',
  invalid_job: 'usage',
  outside_roots: 'usage',
  root_missing: 'usage',
  root_mismatch: 'usage',

  // The sandbox
  not_running: 'notFound',
  sandbox_failed: 'unclassified',
} as const;

export type ErrorCode = keyof typeof errorTable;

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

/** Codes of other kinds after which every other item of a run would fail too. */
const runEndingCodes: readonly ErrorCode[] = [
  'origin_mismatch',
  'connection_refused',
  'proxy_failed',
  'tls_failed',
  'reserve_too_large',
];

export const isRunEnding = (code: ErrorCode) => runEndingKinds.includes(kindOf(code)) || runEndingCodes.includes(code);
