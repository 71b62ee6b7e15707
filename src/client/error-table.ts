/** Process exit codes, a public interface that scripts depend on. */
export const exitCodes = {
  ok: 0,
  unclassified: 1,
  usage: 2,
  notFound: 3,
  unauthenticated: 4,
  forbidden: 5,
  rejected: 6,
  quota: 7,
  stillProcessing: 8,
  rateLimited: 9,
  unreachable: 10,
  partial: 11,
  unplayable: 12,
  integrity: 13,
  state: 14,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Maps each exit code to a short description for help and documentation. */
export const exitCodeMeanings: Record<ExitCode, string> = {
  0: 'success, including an empty list',
  1: 'any other error',
  2: 'usage error; or input is missing and there is no terminal to prompt on',
  3: 'not found (404)',
  4: 'no API key, or the service rejected it (401)',
  5: 'the API key lacks a scope (403)',
  6: 'the service rejected the request (400, 409, 412, 413, 422)',
  7: 'out of credits (402) or storage (507)',
  8: 'timed out: still processing',
  9: 'rate limit (429) and the wait would exceed --max-wait, or stopped by --stop-at',
  10: 'network, TLS, timeout or server error (5xx)',
  11: 'some items failed (each is named), or check found differences',
  12: 'processing failed, or the asset cannot be played',
  13: 'integrity: the checksum differs, the file changed, or the service pointed to another origin',
  14: 'the upload history cannot be used: disk full, read-only, damaged or deleted',
  130: 'interrupted, or a prompt was declined',
  143: 'terminated',
};

type ErrorRow = {
  exit: Exclude<keyof typeof exitCodes, 'ok'>;
  /** Next step of an error that has no more specific one. */
  hint?: string;
  /** True if every other item of a run would fail too, although the exit code alone does not say so. */
  endsRun?: boolean;
};

export const rerunSoon = 'run it again in a moment';
const checkBaseUrl = 'mediactl auth status, to check the base URL';
const assetStatus = 'mediactl get ID, to see its status';
const restoreState = 'restore it from a backup, or start over: upload --force uploads everything again';
const allowState =
  'make the state folder writable; upload --force or another MEDIACTL_STATE_DIR uploads everything again';

/**
 * Every error code with its exit code and its next step. docs/errors.md and `mediactl help exit-codes` are made from
 * it. Codes are a public interface: `error.code` in JSON.
 */
export const errorTable = {
  // The command line
  usage: { exit: 'usage' },
  declined: { exit: 'interrupted' },
  interrupted: { exit: 'interrupted' },
  terminated: { exit: 'terminated' },
  unclassified: { exit: 'unclassified', hint: 'run it again with --debug, and report the bug' },
  partial_failure: { exit: 'partial' },
  skipped: { exit: 'partial' },
  list_changed: { exit: 'partial', hint: 'run it again once others have stopped deleting' },
  check_failed: { exit: 'partial', hint: 'mediactl sync DIR /FOLDER, to upload missing and changed files' },
  write_failed: { exit: 'unclassified', hint: 'free some disk space, or choose another path' },
  port_unavailable: { exit: 'unclassified' },
  invalid_folder: { exit: 'usage' },
  mkdir_failed: { exit: 'unclassified' },
  incomplete_install: { exit: 'unclassified', hint: 'install the package again, with npm install --include=optional' },

  // Accounts and settings
  no_base_url: { exit: 'unauthenticated', hint: 'set MEDIACTL_BASE_URL, for example to https://media.example.com' },
  no_key: { exit: 'unauthenticated', hint: 'mediactl auth login --profile NAME' },
  no_profile: { exit: 'unauthenticated', hint: 'mediactl auth switch NAME, or --profile NAME' },
  profile_not_found: { exit: 'usage', hint: 'mediactl auth ls, or mediactl auth login --profile NAME' },
  key_origin_mismatch: {
    exit: 'unauthenticated',
    hint: 'set MEDIACTL_API_KEY and MEDIACTL_BASE_URL, or mediactl auth login --profile NAME --base-url URL',
  },
  keychain_unavailable: {
    exit: 'unauthenticated',
    hint: 'unlock the keychain, or mediactl auth login --profile NAME --key-store file',
  },
  invalid_config: { exit: 'usage', hint: 'fix it, or move it out of the way' },
  insecure_config: { exit: 'unclassified', hint: 'chmod 600 FILE' },
  clock_skew: { exit: 'usage', hint: 'set this machine’s clock' },

  // Answers of the service (§7)
  bad_request: { exit: 'rejected' },
  unauthenticated: { exit: 'unauthenticated', hint: 'mediactl auth login, or set MEDIACTL_API_KEY' },
  credits_depleted: { exit: 'quota', hint: 'top up the balance, then run the same command again' },
  forbidden: { exit: 'forbidden', hint: 'mediactl auth switch, or create an API key with that scope' },
  not_found: { exit: 'notFound' },
  conflict: { exit: 'rejected' },
  too_large: { exit: 'rejected' },
  validation_failed: { exit: 'rejected', hint: 'run the same command with --help to see what it accepts' },
  rate_limited: { exit: 'rateLimited', hint: 'run it again later, or allow a longer wait with --max-wait' },
  storage_full: { exit: 'quota', hint: 'free or buy storage, then run the same command again' },
  server_error: { exit: 'unreachable', hint: rerunSoon },
  unexpected_status: { exit: 'unclassified' },
  invalid_response: { exit: 'unreachable', hint: checkBaseUrl },
  origin_mismatch: { exit: 'integrity', hint: checkBaseUrl, endsRun: true },
  token_expired: { exit: 'unauthenticated', hint: 'mediactl assets player-data UID --show-token, to get a new one' },

  // The network
  unreachable: { exit: 'unreachable', hint: 'check the network, then run it again' },
  connection_refused: {
    exit: 'unreachable',
    hint: 'check the network and the base URL: mediactl auth status',
    endsRun: true,
  },
  proxy_failed: { exit: 'unreachable', hint: 'check HTTPS_PROXY and NO_PROXY', endsRun: true },
  tls_failed: {
    exit: 'unreachable',
    hint: 'check the URL, this machine’s clock and NODE_EXTRA_CA_CERTS',
    endsRun: true,
  },
  timeout: { exit: 'unreachable', hint: 'run it again, or allow more time with --request-timeout' },
  private_address: { exit: 'rejected', hint: 'mediactl get ID, to see the URLs that the service returned' },
  reserve_too_large: { exit: 'usage', hint: 'use a smaller --reserve-requests', endsRun: true },
  stopped_at_limit: { exit: 'rateLimited' },

  // Assets, folders and playback
  already_exists: { exit: 'rejected', hint: 'use -p to accept an existing folder' },
  write_ignored: {
    exit: 'rejected',
    hint: 'mediactl help assumptions: the service may use another name for the field',
  },
  filter_ignored: { exit: 'rejected', hint: 'pass ids instead: mediactl ls … -q | mediactl assets VERB -' },
  tags_unknown: { exit: 'rejected', hint: 'mediactl update ID --set-tags SLUGS, to replace all tags' },
  settings_unclear: { exit: 'rejected', hint: 'mediactl config set field_names.embed_domains NAME' },
  nothing_to_play: { exit: 'unplayable', hint: 'mediactl wait ID, if it is not ready yet' },
  playback_broken: { exit: 'unplayable', hint: assetStatus },
  download_changed: {
    exit: 'integrity',
    hint: 'run it again; if it fails again, mediactl play ID --json shows what the service offers',
  },
  download_incomplete: { exit: 'integrity', hint: 'run it again' },
  still_processing: { exit: 'stillProcessing', hint: 'mediactl wait ID, with a longer --timeout' },
  processing_failed: {
    exit: 'unplayable',
    hint: 'check that the file plays on your machine, then upload it again with upload --force',
  },

  // Sources of an upload
  file_not_found: { exit: 'usage', hint: 'check the path' },
  not_a_file: { exit: 'usage', hint: 'mediactl upload - --name NAME < FILE, to spool it to disk first' },
  unreadable_file: { exit: 'usage', hint: 'check the path and the disk' },
  file_missing: { exit: 'unclassified', hint: 'restore it, then run the same command again' },
  file_changed: {
    exit: 'integrity',
    hint: 'mediactl upload --force FILE once it no longer changes, to upload it as a new asset',
  },
  source_forbidden: {
    exit: 'usage',
    hint: 'run the same command with a newly signed URL to resume',
  },
  source_failed: { exit: 'unreachable', hint: 'curl -L URL | mediactl upload - --name NAME' },
  source_busy: { exit: 'unreachable', hint: 'run it again later, or allow a longer wait with --max-wait' },
  stdin_size_differs: {
    exit: 'usage',
    hint: 'run it again with the correct --stdin-size, or without it to spool stdin to disk first',
  },

  // An upload
  upload_in_progress: {
    exit: 'rejected',
    hint: 'wait for it to finish, or stop it and run the same command again to continue',
  },
  session_broken: {
    exit: 'unreachable',
    hint: 'run the same command again; if it fails again, mediactl upload --force starts over',
  },
  session_mismatch: {
    exit: 'integrity',
    hint: 'run the same command again; if it fails again, mediactl upload --force starts over',
  },
  session_expired: { exit: 'notFound', hint: 'run the same command without --on-session-expired fail to start over' },
  session_unknown: { exit: 'notFound', hint: assetStatus },
  checksum_mismatch: { exit: 'integrity', hint: 'do not use that asset; upload the file again with upload --force' },
  unverified: {
    exit: 'integrity',
    hint: 'omit --require-checksum to accept it, or use --force to upload the file again',
  },

  // The record of what was uploaded
  state_full: { exit: 'state', hint: 'free some space on that disk, then run the same command again' },
  state_read_only: { exit: 'state', hint: allowState },
  state_damaged: { exit: 'state', hint: restoreState },
  state_missing: { exit: 'state', hint: restoreState },
  state_locked: { exit: 'state', hint: 'stop that program, then run the same command again' },
  state_newer: { exit: 'state', hint: 'install the latest mediactl' },
  state_file_system: {
    exit: 'state',
    hint: 'set MEDIACTL_STATE_DIR to a folder on a local disk; uploads export and uploads import move your history there',
  },
  state_unusable: { exit: 'state', hint: allowState },
  locked: { exit: 'rejected', hint: 'run it again once that process has finished' },

  // Queue and workers
  queue_refused: { exit: 'unauthenticated', hint: 'check the user and password in MEDIACTL_QUEUE or in the profile' },
  queue_unusable: { exit: 'usage', hint: 'check the queue URL, especially its database' },
  queue_tls: { exit: 'unreachable', hint: 'check that the server accepts TLS on that port' },
  queue_full: {
    exit: 'unreachable',
    hint: 'add memory or disk to the server, or free some: mediactl uploads forget --finished --queue',
  },
  queue_unreachable: { exit: 'unreachable', hint: 'check the queue URL, and that the server is running' },
  queue_paused: { exit: 'unclassified' },
  worker_paused: { exit: 'rejected' },
  lease_lost: { exit: 'rejected' },
  attempts_exhausted: { exit: 'unclassified', hint: 'mediactl uploads retry ID --queue, once the cause is fixed' },
  queue_service_mismatch: { exit: 'usage', hint: 'use one queue per service: append #NAME to the queue URL' },
  unsupported_job: { exit: 'usage', hint: 'install the same version on every machine, then start this worker again' },
  invalid_job: { exit: 'usage', hint: 'mediactl uploads forget ID --queue' },
  outside_roots: { exit: 'usage', hint: 'start a worker with --root NAME=DIR' },
  root_missing: { exit: 'usage', hint: 'mount the disk' },
  root_mismatch: {
    exit: 'usage',
    hint: 'mount the disk, or start the worker with another --root; if the files were deleted: mediactl uploads forget ID --queue',
  },

  // The sandbox
  not_running: { exit: 'notFound', hint: 'mediactl sandbox start' },
  sandbox_failed: { exit: 'unclassified', hint: 'mediactl sandbox start --foreground, to see its output' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** Returns the row of a code. A code that a newer mediactl wrote has none, and counts as unclassified. */
export const errorRow = (code: ErrorCode): ErrorRow => errorTable[code] ?? { exit: 'unclassified' };

/** Returns each exit code with its meaning and its error codes, in the order of the exit codes. */
export const exitCodeRows = (): [exit: number, meaning: string, codes: ErrorCode[]][] =>
  Object.entries(exitCodeMeanings).map(([exit, meaning]) => [
    Number(exit),
    meaning,
    (Object.keys(errorTable) as ErrorCode[]).filter((code) => exitCodes[errorRow(code).exit] === Number(exit)),
  ]);
