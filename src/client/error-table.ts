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
  0: 'success, an empty list included',
  1: 'unclassified',
  2: 'usage; or input is missing and cannot be asked for',
  3: 'not found (404)',
  4: 'no API key, or the key is not accepted (401)',
  5: 'the key lacks a scope (403)',
  6: 'the service refused the request (400, 409, 412, 413, 422)',
  7: 'credits (402) or storage (507) are used up',
  8: 'waited long enough: still processing',
  9: 'rate limit (429), and the wait would pass --max-wait; or --until stopped it',
  10: 'network, TLS, timeout, or a server error (5xx)',
  11: 'many items, some failed, each is named; or check found differences',
  12: 'the asset failed to process, or playback is blocked',
  13: 'integrity: the checksum differs, the file changed, or the server pointed to another origin',
  14: 'the state folder cannot keep what was uploaded: full, read-only, damaged or emptied',
  130: 'interrupted, or a prompt declined',
  143: 'terminated',
};

type ErrorRow = {
  exit: Exclude<keyof typeof exitCodes, 'ok'>;
  /** Next step of an error that has no more specific one. */
  hint?: string;
  /** True if every other item of a run would fail too, although the exit code alone does not say so. */
  endsRun?: boolean;
};

const rerun = 'run the same command again';
const rerunSoon = 'run it again in a moment';
const checkBaseUrl = 'check the base URL: mediactl auth status';
const assetStatus = 'mediactl assets get ID, to see its status';
const restoreState = 'restore it from a backup; upload --again begins a new one, and sends everything again';
const allowState =
  'allow mediactl to write there; upload --again, or another MEDIACTL_STATE_DIR, sends everything again';

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
  unclassified: { exit: 'unclassified', hint: 'run again with --debug to see where, and report it' },
  some_failed: { exit: 'partial' },
  not_tried: { exit: 'partial' },
  differs: { exit: 'partial', hint: 'mediactl upload --sync DIR --folder FOLDER sends what is missing or changed' },
  output: { exit: 'unclassified', hint: 'make room, or give another place' },
  manifest_out: {
    exit: 'unclassified',
    hint: 'once there is room, the same command writes it again, and sends nothing twice',
  },
  already_downloading: { exit: 'rejected', hint: 'wait for it to finish, or give another place' },
  not_shown: { exit: 'unclassified', hint: '-o FILE, to save it as it is' },
  cannot_listen: { exit: 'unclassified' },
  player_failed: { exit: 'unclassified', hint: 'mediactl play ID --check tells whether it can be played' },
  folder: { exit: 'usage' },
  folder_failed: { exit: 'unclassified' },
  not_installed: { exit: 'unclassified', hint: 'install mediactl again, with its optional dependencies' },

  // Accounts and settings
  no_base_url: { exit: 'unauthenticated', hint: 'set MEDIACTL_BASE_URL, such as https://media.example.com' },
  no_key: { exit: 'unauthenticated', hint: 'mediactl auth login --profile NAME' },
  bad_key: { exit: 'usage', hint: 'make one in the organization’s settings, under API keys' },
  no_profile: { exit: 'unauthenticated', hint: 'mediactl auth switch NAME, or --profile NAME' },
  no_such_profile: { exit: 'usage', hint: 'mediactl auth ls, or mediactl auth login --profile NAME' },
  profile_taken: { exit: 'usage', hint: 'mediactl auth rename NAME OTHER, then mediactl sandbox start' },
  foreign_base_url: {
    exit: 'unauthenticated',
    hint: 'set MEDIACTL_API_KEY, or mediactl auth login --profile NAME --base-url URL',
  },
  keychain: {
    exit: 'unauthenticated',
    hint: 'unlock the keychain, or mediactl auth login --profile NAME --store file',
  },
  keychain_write: { exit: 'unclassified', hint: 'unlock it, or use --store file' },
  config_corrupt: { exit: 'usage', hint: 'mend it, or move it away' },
  config_mode: { exit: 'unclassified', hint: 'chmod 600 FILE' },
  project_file: { exit: 'usage', hint: 'it is a JSON object with settings' },
  clock_skew: { exit: 'unclassified', hint: 'set the clock of this machine' },

  // Answers of the service (§7)
  bad_request: { exit: 'rejected' },
  unauthenticated: { exit: 'unauthenticated', hint: 'mediactl auth login, or set MEDIACTL_API_KEY' },
  credits_depleted: { exit: 'quota', hint: 'top up the balance, then run the same command again' },
  forbidden: { exit: 'forbidden', hint: 'mediactl auth switch, or make a key with that scope under API keys' },
  not_found: { exit: 'notFound' },
  conflict: { exit: 'rejected' },
  gone: { exit: 'notFound' },
  precondition_failed: { exit: 'rejected' },
  too_large: { exit: 'rejected' },
  invalid: { exit: 'rejected', hint: 'the same command with --help shows what it accepts' },
  session_locked: { exit: 'rejected', hint: rerunSoon },
  too_early: { exit: 'unreachable', hint: rerunSoon },
  rate_limited: { exit: 'rateLimited', hint: 'run it again later, or allow a longer wait with --max-wait' },
  headers_too_large: { exit: 'rejected', hint: 'shorten the description or the name: they travel in a header' },
  damaged_on_the_way: { exit: 'integrity', hint: rerun },
  not_offered: { exit: 'unreachable' },
  storage_full: { exit: 'quota', hint: 'free or buy storage, then run the same command again' },
  server_error: { exit: 'unreachable', hint: rerunSoon },
  redirected: { exit: 'unreachable', hint: checkBaseUrl },
  unexpected_status: { exit: 'unclassified' },
  unexpected_answer: { exit: 'unreachable', hint: checkBaseUrl },
  foreign_origin: { exit: 'integrity', hint: checkBaseUrl, endsRun: true },
  token_expired: { exit: 'unauthenticated', hint: 'mediactl assets player UID --reveal, for a new one' },

  // The network
  unreachable: { exit: 'unreachable', hint: 'check the network, then run it again' },
  refused: { exit: 'unreachable', hint: 'check the network and the base URL: mediactl auth status', endsRun: true },
  proxy: { exit: 'unreachable', hint: 'check HTTPS_PROXY and NO_PROXY', endsRun: true },
  tls: {
    exit: 'unreachable',
    hint: 'check the address, the clock of this machine and NODE_EXTRA_CA_CERTS',
    endsRun: true,
  },
  timeout: { exit: 'unreachable', hint: 'run it again, or allow more with --request-timeout' },
  connection_lost: { exit: 'unreachable', hint: 'run it again' },
  private_address: { exit: 'rejected', hint: 'mediactl assets get ID shows the addresses that the service names' },
  reserve: { exit: 'usage', hint: 'a smaller --reserve', endsRun: true },
  until: { exit: 'rateLimited' },

  // Assets, folders and playback
  exists: { exit: 'rejected', hint: 'with -p that is no error' },
  write_ignored: { exit: 'rejected', hint: 'mediactl doctor --learn finds the name that the service uses' },
  write_unseen: { exit: 'rejected' },
  filter_ignored: { exit: 'rejected', hint: 'give ids instead: mediactl assets ls … -q | mediactl assets VERB -' },
  tags_unknown: { exit: 'rejected', hint: 'mediactl assets update ID --set-tags SLUGS says all of them' },
  settings_unclear: { exit: 'rejected', hint: 'mediactl config set names.embed_list NAME' },
  domain_unclear: { exit: 'usage', hint: 'mediactl config set names.embed_domain NAME' },
  no_total: { exit: 'unclassified', hint: 'count them: mediactl assets ls --all -q | wc -l' },
  no_thumbnail: { exit: 'notFound', hint: assetStatus },
  blocked: { exit: 'unplayable', hint: 'mediactl assets wait ID, if it was uploaded just now' },
  nothing_to_play: { exit: 'unplayable', hint: 'mediactl assets wait ID, if it is not ready' },
  playback_broken: { exit: 'unplayable', hint: assetStatus },
  sizes_unknown: { exit: 'usage', hint: 'mediactl play ID shows their addresses; fetch the one that is meant' },
  download_changed: {
    exit: 'integrity',
    hint: 'run it again; if it repeats, mediactl play ID --info shows what the service offers',
  },
  download_incomplete: { exit: 'integrity', hint: 'run it again' },
  still_processing: { exit: 'stillProcessing', hint: 'mediactl assets wait ID, with a longer --timeout' },
  processing_failed: {
    exit: 'unplayable',
    hint: 'check that the file plays here, then send it again with upload --again',
  },
  wrong_status: { exit: 'usage', hint: 'wait for ready' },

  // Sources of an upload
  no_such_file: { exit: 'usage', hint: 'check the path' },
  not_a_file: { exit: 'usage', hint: 'mediactl upload - --name NAME < FILE, which spools it first' },
  is_directory: { exit: 'usage', hint: 'mediactl upload -r DIR, for the files in it' },
  unreadable_file: { exit: 'usage', hint: 'check the path and the disk' },
  unreadable_directory: { exit: 'usage', hint: 'fix its permissions, or leave it out with --exclude' },
  bad_file_name: { exit: 'usage', hint: 'rename it; convmv does that for many' },
  file_gone: { exit: 'unclassified', hint: 'put it back and run the same command again' },
  file_changed: {
    exit: 'integrity',
    hint: 'once it no longer changes, mediactl upload --again FILE, which makes a new asset',
  },
  source_refused: {
    exit: 'usage',
    hint: 'the same command with an address that is newly signed continues where this one stopped',
  },
  source_failed: { exit: 'unreachable', hint: 'curl -L URL | mediactl upload - --name NAME' },
  source_busy: { exit: 'unreachable', hint: 'run it again later, or allow a longer wait with --max-wait' },
  rclone_failed: { exit: 'unreachable', hint: 'try the remote with rclone itself: rclone lsf REMOTE:' },
  spool: { exit: 'unclassified', hint: 'make room, set MEDIACTL_STATE_DIR, or upload a file' },
  stream_gone: {
    exit: 'unclassified',
    hint: 'run the same command again with the same input; with another, --again makes a new asset',
  },
  stdin_size_differs: {
    exit: 'usage',
    hint: 'run it again with the right --size, or without it: stdin is then kept on the disk first',
  },

  // An upload
  already_uploading: {
    exit: 'rejected',
    hint: 'wait for it to finish, or stop it and run the same command again to continue',
  },
  broken_session: {
    exit: 'unreachable',
    hint: 'run the same command again; if it repeats, mediactl upload --again starts from the beginning',
  },
  session_mismatch: {
    exit: 'integrity',
    hint: 'run the same command again; if it repeats, mediactl upload --again starts from the beginning',
  },
  session_expired: { exit: 'notFound', hint: 'the same command without --on-expired fail starts again' },
  session_refused: { exit: 'notFound', hint: assetStatus },
  session_unknown: { exit: 'notFound', hint: assetStatus },
  size_differs: { exit: 'integrity', hint: 'mediactl assets get ID shows the asset that it created' },
  bytes_lost: { exit: 'unreachable', hint: rerun },
  checksum_mismatch: { exit: 'integrity', hint: 'do not use that asset; upload --again sends the file again' },
  unverified: { exit: 'integrity', hint: 'leave out --require-checksum to accept that; --again sends the file again' },
  creation_unknown: { exit: 'usage', hint: '--yes makes a new asset and leaves what was found' },

  // The record of what was uploaded
  state_full: { exit: 'state', hint: 'make room on that disk, then run the same command again' },
  state_read_only: { exit: 'state', hint: allowState },
  state_damaged: { exit: 'state', hint: restoreState },
  state_emptied: { exit: 'state', hint: restoreState },
  state_locked: { exit: 'state', hint: 'end that program, then run the same command again' },
  state_newer: { exit: 'state', hint: 'install the newest mediactl' },
  state_not_a_file: { exit: 'state', hint: 'move it away, then run the same command again' },
  state_file_system: {
    exit: 'state',
    hint: 'set MEDIACTL_STATE_DIR to a folder on a local disk; uploads export and import carry it over',
  },
  state_unusable: { exit: 'state', hint: allowState },
  state_folder: { exit: 'unclassified', hint: 'set MEDIACTL_STATE_DIR' },
  journal_corrupt: { exit: 'unclassified', hint: 'mediactl uploads ls' },
  locked: { exit: 'unclassified', hint: 'run it again once that one has ended' },

  // Queue and workers
  queue_refused: { exit: 'unauthenticated', hint: 'user and password stand in MEDIACTL_QUEUE, or in the profile' },
  queue_unusable: { exit: 'usage', hint: 'check the address, its database above all' },
  queue_evicts: { exit: 'usage', hint: 'maxmemory-policy noeviction in redis.conf, or a Redis of its own' },
  queue_tls: { exit: 'unreachable', hint: 'check that the server speaks TLS at that port' },
  queue_full: {
    exit: 'unreachable',
    hint: 'give the server more memory or disk, or make room: mediactl uploads forget --done --queue',
  },
  queue_unreachable: { exit: 'unreachable', hint: 'check the address, and that the server runs' },
  queue_paused: { exit: 'unclassified' },
  clock_differs: { exit: 'usage', hint: 'set the clock of this machine' },
  worker_paused: { exit: 'rejected' },
  lease_lost: { exit: 'rejected' },
  given_up: { exit: 'unclassified', hint: 'mediactl uploads retry ID --queue, once it is known why' },
  not_failed: { exit: 'rejected' },
  forgotten: { exit: 'notFound', hint: 'queue it again' },
  foreign_service: { exit: 'usage', hint: 'a queue for each service: the address with #NAME' },
  newer_task: { exit: 'usage', hint: 'install the same version on every machine, then start this worker again' },
  unknown_task: { exit: 'usage', hint: 'mediactl uploads forget ID --queue' },
  outside_roots: { exit: 'usage', hint: 'a worker with --root NAME=DIR' },
  root_gone: { exit: 'usage', hint: 'mount it' },
  root_mismatch: {
    exit: 'usage',
    hint: 'mount the disk, or start the worker with another --root; files that were deleted: mediactl uploads forget ID --queue',
  },

  // The sandbox
  not_running: { exit: 'notFound', hint: 'mediactl sandbox start' },
  no_log: { exit: 'notFound', hint: 'mediactl sandbox start' },
  sandbox_failed: { exit: 'unclassified', hint: 'mediactl sandbox start --foreground shows what it does' },
  sandbox_refused: { exit: 'usage', hint: 'mediactl sandbox start --foreground shows what it does' },
  sandbox_hangs: {
    exit: 'unclassified',
    hint: 'kill -9 PID, if it is the sandbox; nothing that was acknowledged is lost',
  },
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
