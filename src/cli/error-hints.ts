import { type ErrorCode, type ErrorKind, errorTable, type Subcode, subcodeTable } from '../client/error-table.ts';
import type { CodedError, Explanation, Remedies, Remedy } from '../client/errors.ts';
import type { UploadEvent } from '../client/upload/session/events.ts';
import { asObject } from '../shared/json-values.ts';
import { quoteForShell } from '../shared/sanitize.ts';
import { nextStepFor } from './profile-in-commands.ts';
import type { OutputRecord } from './reference/schemas.ts';
import type { SuggestionProfile } from './settings/settings.ts';

/** Process exit code of each kind of error, a public interface that scripts depend on. */
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
} as const satisfies Record<ErrorKind | 'ok', number>;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

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
  9: 'rate limit (429) and the wait would exceed --max-wait',
  10: 'network, TLS, timeout or server error (5xx)',
  11: 'some items failed (each is named), or check found differences',
  12: 'processing failed, or the asset cannot be played',
  13: 'integrity: the checksum differs, the file changed, or the service pointed to another origin',
  14: 'the upload history cannot be used: disk full, read-only, damaged or deleted',
  130: 'interrupted, or a prompt was declined',
  143: 'terminated',
};

const checkBaseUrl = 'mediactl auth status, to check the base URL';
const assetStatus = 'mediactl get ID, to see its status';
const restoreState =
  'restore it from a backup, or start a new one: upload --force compares the files with their folder';
const allowState =
  'make the state folder writable; upload --force goes on without it, and compares the files with their folder';

/** Next step of each error code and subcode in the words of the command line, unless the error has a more specific one. */
const hints: { readonly [Cause in ErrorCode | Subcode]?: string } = {
  // The command line
  unclassified: 'run it again with --debug, and report the bug',
  list_changed: 'run it again once others have stopped deleting',
  list_incomplete: 'run it again; a deletion goes on without the rest with --max-changes NUMBER',
  check_failed: 'mediactl sync DIR /FOLDER, to upload missing and changed files',
  write_failed: 'free some disk space, or choose another path',
  incomplete_install: 'install the package again, with npm install --include=optional',

  // Accounts and settings
  not_logged_in: 'mediactl auth login --profile NAME',
  key_origin_mismatch:
    'set MEDIACTL_API_KEY and MEDIACTL_BASE_URL, or mediactl auth login --profile NAME --base-url URL',
  keychain_unavailable: 'unlock the keychain, or mediactl auth login --profile NAME --key-store file',
  invalid_config: 'fix it, or move it out of the way',
  insecure_config: 'chmod 600 FILE',
  clock_skew: 'set this machine’s clock',

  // Responses of the service (§7)
  unauthenticated: 'mediactl auth login, or another MEDIACTL_API_KEY if that is set',
  credits_depleted: 'top up the balance, then run the same command again',
  forbidden: 'mediactl auth switch, or create an API key with that scope',
  invalid_request: 'run the same command with --help to see what it accepts',
  rate_limited: 'run it again later, or allow a longer wait with --max-wait',
  storage_full: 'free or buy storage, then run the same command again',
  server_error: 'run it again in a moment',
  invalid_response: checkBaseUrl,
  origin_mismatch: checkBaseUrl,
  token_expired: 'mediactl assets player-data UID --show-token, to get a new one',

  // The network
  unreachable: 'check the network, then run it again',
  connection_refused: 'check the network and the base URL: mediactl auth status',
  proxy_failed: 'check HTTPS_PROXY and NO_PROXY',
  tls_failed: 'check the URL, this machine’s clock and NODE_EXTRA_CA_CERTS',
  timeout: 'run it again, or allow more time with --request-timeout',
  private_address: 'mediactl get ID, to see the URLs that the service returned',
  reserve_too_large: 'use a smaller --reserve-requests',

  // Assets, folders and playback
  already_exists: 'use -p to accept an existing folder',
  write_ignored: 'mediactl help assumptions: the service may use another name for the field',
  filter_ignored: 'pass ids instead: mediactl ls … -q | mediactl assets VERB -',
  tags_unknown: 'mediactl tag ID --set SLUGS, to replace all tags',
  changed_meanwhile: 'mediactl get ID, to see it now',
  cannot_undo: 'mediactl history, to list the other changes; mediactl undo CHANGE',
  settings_unclear: 'mediactl config set field_names.embed_domains NAME, or field_names.embed_enabled NAME',
  nothing_to_play: 'mediactl wait ID, if it is not ready yet',
  playback_broken: assetStatus,
  download_changed: 'run it again; if it fails again, mediactl play ID --json, to see what the service offers',
  download_incomplete: 'run it again',
  still_processing: 'mediactl wait ID, with a longer --timeout',
  processing_failed:
    'check that the file plays on your machine; then mediactl rm ID, and the same upload again; or mediactl upload FILE --existing upload',

  // Sources of an upload
  file_unusable: 'check the path',
  not_a_file: 'mediactl upload - --name NAME < FILE, to spool it to disk first',
  unreadable_file: 'check the path and the disk',
  file_gone: 'restore it, then run the same command again',
  file_changed: 'run the same command again once it no longer changes: it uploads the file as a new asset',
  source_forbidden: 'run the same command with a newly signed URL to resume',
  source_failed: 'curl -L URL | mediactl upload - --name NAME',
  source_busy: 'run it again later, or allow a longer wait with --max-wait',

  // An upload
  upload_in_progress: 'wait for it to finish, or stop it and run the same command again to continue',
  session_broken:
    'run the same command again; if it fails again, mediactl upload FILE --existing upload, to start over',
  session_mismatch:
    'run the same command again; if it fails again, mediactl upload FILE --existing upload, to start over',
  session_unknown: assetStatus,
  checksum_mismatch: 'do not use that asset; run the same command again: it uploads the file as a new asset',
  unverified: 'omit --require-checksum to accept it, or use --existing upload to upload the file again',

  // The database of uploads and receipts
  state_full: 'free some space on that disk, then run the same command again',
  state_damaged: restoreState,
  state_missing: restoreState,
  state_locked: 'stop that program, then run the same command again',
  state_newer: 'install the latest mediactl',
  state_file_system:
    'set MEDIACTL_STATE_DIR to a folder on a local disk; to keep your history, copy the state folder there first',
  state_unusable: allowState,
  locked: 'run it again once that process has finished',

  // Queue and workers
  queue_refused: 'check the user and password in MEDIACTL_QUEUE or in the profile',
  queue_unusable: 'use Redis or Valkey without cluster mode and with maxmemory-policy noeviction',
  queue_tls: 'check that the server accepts TLS on that port',
  queue_full: 'add memory or disk to the server, or free some: mediactl queue forget --finished',
  queue_read_only: 'wait until its failover or start is over, or use the address of the primary',
  queue_unreachable: 'check the queue URL, and that the server is running',
  queue_paused: 'fix the cause, then: mediactl queue retry --all',
  attempts_exhausted: 'mediactl queue retry ID, once the cause is fixed',
  queue_service_mismatch: 'use one queue per service: append #NAME to the queue URL',
  unsupported_job: 'install the same version on every machine, then start this worker again',
  invalid_job: 'mediactl queue forget ID',
  outside_roots: 'start a worker with --root NAME=DIR',
  root_unusable: 'mount the disk',
  root_mismatch:
    'mount the disk, or start the worker with another --root; if the files were deleted: mediactl queue forget ID',

  // The sandbox
  not_running: 'mediactl sandbox start',
  sandbox_failed: 'mediactl sandbox start --foreground, to see its output',
};

const setFieldName = (key: string, name = 'NAME', choice = '') =>
  `mediactl config set field_names.${key} ${quoteForShell(name)}${choice}${key === 'embed_enabled' ? `, or ${quoteForShell(`!${name}`)} if true means that every site may embed` : ''}`;

const remedies: { [Name in keyof Remedies]: (...args: Remedies[Name]) => string } = {
  accept_rendition: () => 'mediactl download ID --accept-rendition, if a rendition will do',
  check_base_url: () => 'mediactl auth status, to check the base URL; check any proxy too',
  compare_download: (directory, folder) =>
    directory === undefined || folder === undefined
      ? 'mediactl check DIRECTORY /FOLDER --download, to compare it'
      : `mediactl check ${quoteForShell(directory)} ${quoteForShell(folder)} --download, to compare it; then run the same command again`,
  confirm_new_asset: (uid) => `mediactl get ${uid}, to check it; --yes starts over and keeps that asset`,
  create_parents: (path) => `mediactl folders create -p ${quoteForShell(path)}`,
  get_playback_token: () => 'mediactl assets player-data UID --show-token, to get a token for this asset',
  list_orphans: () => 'mediactl uploads cleanup, to list it',
  list_pending_uploads: () => 'see mediactl uploads ls',
  name_encoding: (name, ...others) =>
    name === undefined
      ? 'save it as UTF-8 (in Excel: "CSV UTF-8"), or name its encoding, such as --encoding windows-1250'
      : `--encoding ${[name, ...others].join(', or ')}`,
  pipe_download: () => 'curl -L URL | mediactl upload - --name NAME',
  pipe_remote: (remote) => `rclone cat ${quoteForShell(remote)} | mediactl upload - --name NAME`,
  rename_folder: (path) => `mediactl rename ${quoteForShell(path)} NAME, to rename it`,
  resume_upload: (id, how) => (resumeSteps[how] ?? resumeSteps.by_id)(`mediactl uploads resume ${id}`),
  retry_all: () => 'mediactl queue retry --all, once the cause is fixed',
  set_field_name: setFieldName,
  set_field_names: (...keys) =>
    keys.map((key) => `if this service uses another name for it: ${setFieldName(key)}`).join('; '),
  show_asset: (uid, purpose) => `mediactl get ${uid}, ${purpose}`,
  show_embed_restriction: () => 'mediactl embed show, to see if a restriction of its workspace blocks it',
  show_playback: (uid) => `mediactl play ${uid}, to see what it has instead`,
  show_urls: (uid) => `mediactl play ${uid}, to see their URLs; download the one that you want`,
  start_local_service: () => 'mediactl sandbox start, if it is a sandbox; mediactl auth ls, to list the profiles',
  upload_directory: (path) => `mediactl upload ${quoteForShell(path)}, to upload the files in it`,
  upload_moved: (path, folder) => `mediactl upload ${quoteForShell(path)} --folder ${folder || '/'}`,
  upload_spooled: (path) =>
    `mediactl upload ${quoteForShell(path)} --name NAME, to upload the saved input; then delete it`,
  wait_then_repeat: (uid) => `mediactl wait ${uid}, then run the same command again`,
  use_smaller_chunks: () => 'run the same command again with a smaller --chunk-size, such as 8MiB',
  use_uids: (command) =>
    command ? `use uids instead: mediactl ls … -q | mediactl ${command} -` : 'use uids: mediactl ls, to see them',
};

const resumeSteps = {
  by_id: (command: string) => `${command}, to continue`,
  by_command: (command: string) => `run the same command again, or ${command}, to continue`,
  as_new_asset: (command: string) => `${command} --yes, to create a new asset and keep the existing one`,
  from_start: (command: string) => command,
  replaced: (command: string) => `${command}, to upload it again; do not use that asset`,
} satisfies Record<Remedies['resume_upload'][1], (command: string) => string>;

/** Kinds of errors that the user fixes before the upload can be resumed. */
const fixFirst: readonly ErrorKind[] = ['unauthenticated', 'quota', 'forbidden', 'state'];

/** Returns the hint of an error's subcode or code, with the uid of the asset that the error is about. */
function generalHint({ code, subcode, details }: Explanation): string | undefined {
  const { asset_uid, uid = asset_uid } = asObject(details);
  const hint = hints[subcode ?? code] ?? hints[code];
  return typeof uid === 'string' ? hint?.replace(/(?<!\bqueue (?:retry|forget) )\bU?ID\b/, quoteForShell(uid)) : hint;
}

/** Returns the suggested next step of an error, as a command or a sentence. */
export function hintOf({ kind, explanation }: CodedError): string | undefined {
  const { remedy, hint = generalHint(explanation), failures = [] } = explanation;
  const next = remedy && wordRemedy(remedy);
  if (next !== undefined) {
    if (remedy?.[0] !== 'resume_upload' || !hint || !fixFirst.includes(kind)) return next;
    return `${hint.replace(/[,;] then run (?:it|the same command) again$/, '')}; then ${next}`;
  }
  const shared = new Set(failures.map(hintOf));
  return hint ?? (shared.size === 1 ? [...shared][0] : undefined);
}

/** Returns undefined for a remedy that this version does not know, which another machine may have stored. */
const wordRemedy = ([name, ...args]: Remedy): string | undefined =>
  Object.hasOwn(remedies, name) ? (remedies[name] as (...args: readonly unknown[]) => string)(...args) : undefined;

/** Adds the next step of a warning to its message. @param profile profile that its commands have to name, if any */
export function withHint<Event extends UploadEvent>(event: Event, profile?: SuggestionProfile): Event {
  if (event.event !== 'warning') return event;
  const { remedy, ...warning } = event;
  const next = remedy && nextStepFor(wordRemedy(remedy) ?? '', profile);
  return (next ? { ...warning, message: `${event.message}; ${next}` } : warning) as Event;
}

export const exitCodeOf = ({ kind }: CodedError): ExitCode => exitCodes[kind];

/** JSON form of an error. `--json` prints it on stderr under `error`, and `upload --json` next to each failed file. */
export type ErrorRecord = OutputRecord<'error'>['error'];

/** @param profile profile that the commands of the hint have to name, if any */
export function errorRecord(error: CodedError, profile?: SuggestionProfile): ErrorRecord {
  const { code, message, cause, http_status, retryable, retry_after_seconds, details } = error.toJSON();
  return {
    ...{ code, message, cause, hint: nextStepFor(hintOf(error) ?? '', profile) || null, http_status },
    ...{ exit_code: exitCodeOf(error), retryable, retry_after_seconds },
    details: error.explanation.failures?.map((failure) => errorRecord(failure, profile)) ?? details,
  };
}

/** Returns each error code with its exit code and its general next steps: its own, and those of its subcodes. */
export const errorRows = () =>
  (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const subcodes = (Object.keys(subcodeTable) as Subcode[]).filter((subcode) => subcodeTable[subcode] === code);
    const steps = [code, ...subcodes].flatMap((cause) => hints[cause] ?? []);
    return { code, exit: exitCodes[errorTable[code]], hints: [...new Set(steps)] };
  });

export const exitCodeRows = (): [exit: number, meaning: string, codes: ErrorCode[]][] =>
  Object.entries(exitCodeMeanings).map(([exit, meaning]) => [
    Number(exit),
    meaning,
    (Object.keys(errorTable) as ErrorCode[]).filter((code) => exitCodes[errorTable[code]] === Number(exit)),
  ]);
