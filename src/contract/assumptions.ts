import { parentFields } from './asset.ts';
import { type AssetStatus, statusMeanings } from './asset-values.ts';

/**
 * An assumption about a detail that the specification marks "not shown". Code and documentation cite it by its
 * `id`. The field names in `names` are tried in order. A profile can override them with the setting `field_names.KEY`,
 * so that a wrong guess can be fixed without a release.
 */
export type Assumption = {
  id: string;
  /** Section of the specification that leaves the detail open. */
  section: string;
  topic: string;
  assumed: string;
  tolerated: string;
  /** Maps each key that a profile can override to its candidate field names, best first. */
  names?: Record<string, readonly string[]>;
};

const assumptionsById = {
  A01: {
    section: '§2 Page envelope',
    topic: 'fields next to `items`',
    assumed: '`count` is the total',
    tolerated:
      '`total`, `total_count`, the largest of several, or none: then the list ends at an empty or shorter page, or when `next` becomes null; a plain array is the complete list',
    names: { page_total: ['count', 'total', 'total_count'] },
  },
  A02: {
    section: '§4 Folders',
    topic: 'name and parent in folder bodies',
    assumed: '`name` and `parent_uid`; null is the root',
    tolerated:
      '`parent_folder_uid`, `parent`; the one in the tree takes precedence, first one that has the uid of the parent folder',
    names: { folder_name: ['name'], folder_parent: ['parent_uid', 'parent_folder_uid', 'parent'] },
  },
  A03: {
    section: '§2 Folder',
    topic: 'folder record',
    assumed: '`uid`, `name`, `children`',
    tolerated: '`subfolders`, `folders`; the parent as a string, an object or null',
    names: { folder_children: ['children', 'subfolders', 'folders'] },
  },
  A04: {
    section: '§4 Folders',
    topic: 'response to the folder DELETE',
    assumed: 'any 2xx is success',
    tolerated: 'a 4xx is shown unchanged',
  },
  A05: {
    section: '§2 Embed settings',
    topic: 'restriction flag',
    assumed: '`domain_restriction_enabled`, `restriction_enabled`, or `enabled` if it is the only boolean',
    tolerated: 'any other is an error that shows the record; `!NAME` is for one that is true if every site may embed',
    names: { embed_enabled: ['domain_restriction_enabled', 'restriction_enabled', 'enabled'] },
  },
  A06: {
    section: '§2 Embed settings',
    topic: 'allow-list',
    assumed: '`domains`, `allowed_domains` or `embed_domains`',
    tolerated: 'strings or `{domain}`',
    names: { embed_domains: ['domains', 'allowed_domains', 'embed_domains'] },
  },
  A07: {
    section: '§4 Workspaces',
    topic: 'domain in the request body',
    assumed: '`domain`',
    tolerated: '`hostname`',
    names: { embed_domain: ['domain', 'hostname'] },
  },
  A08: {
    section: '§4 Assets',
    topic: 'fields that PATCH accepts',
    assumed: '`name`, `description`, `tags` (slugs: a to z, digits, hyphens, underscores)',
    tolerated: 'any field given by name; tags shown as strings, `{slug}`, or `{name}` if the name is a slug',
    names: { asset_tags: ['tags'] },
  },
  A09: {
    section: '§2 Video and asset records',
    topic: 'fields other than the named ones',
    assumed: '`type`, `tags`, `updated_at`, `parent`, `size`, all optional',
    tolerated: 'unknown fields are kept and shown',
  },
  A10: {
    section: '§2 Workspace',
    topic: 'workspace record',
    assumed: '`uid`, `name`, `is_primary`',
    tolerated:
      '`primary`, `is_default` and `default` for `is_primary`; the setting `primary_workspace`; unknown fields are kept and shown',
  },
  A11: {
    section: '§3 States',
    topic: 'status values',
    assumed:
      '`ready` succeeds; `failed`, `error`, `errored`, `rejected`, `cancelled`, `canceled`, `quarantined`, `failed_…`, `…_failed` fail; `uploading` means that bytes are missing',
    tolerated:
      'any case; every other value counts as in progress until the timeout; `created`, `pending_upload` and similar values mean that bytes are missing',
  },
  A12: {
    section: '§4 Filters',
    topic: 'values of the type and status filters',
    assumed:
      '`video`, `audio`, `image`, `document`, `third_party`, `generic`; `uploading`, `queued`, `processing`, `ready`, `failed`',
    tolerated: 'any other value is passed through; if the service refuses it, the error proposes one of these',
  },
  A13: {
    section: '§7 Errors',
    topic: 'fields of the `error` object',
    assumed: '`code`, `message`, `details`',
    tolerated: 'a string; `detail`; a list of `{loc, msg, ctx}`; text; HTML',
  },
  A14: {
    section: '§2 Playback info',
    topic: 'audio `source` and `waveform_url`',
    assumed: '`{url, expires_at}`; the waveform is JSON, `{duration, peaks}`, each peak 0 to 1',
    tolerated: 'a string; a list of numbers, `{bits, data}` of audiowaveform, an image; any other waveform is ignored',
  },
  A15: {
    section: '§2 Playback info',
    topic: 'image `variants[]`',
    assumed: '`url`, `width`, `height`',
    tolerated: '`url` as string or object; `size` instead of dimensions',
  },
  A16: {
    section: '§2 Playback info',
    topic: '`subtitle_tracks[]` and `thumbnails[]`',
    assumed: '`url`, `language`, `label`',
    tolerated: '`src`; a string; `{page, url}`',
  },
  A17: {
    section: '§5 Authentication',
    topic: 'scopes of asset, folder and embed endpoints',
    assumed: 'Read, Write and Delete Assets by verb',
    tolerated: 'no local check; a 403 names the scope',
  },
  A18: {
    section: '§4 Upload',
    topic: 'checksum in `X-Checksum-Blake3`',
    assumed: 'BLAKE3 of the whole file, in hex',
    tolerated:
      'base64; a checksum of the last chunk is reported as such; any other form leaves the upload unverified, with a warning',
  },
  A19: {
    section: '§4 Playback info',
    topic: 'errors of POST /playback/info/',
    assumed: '401, 403, 404, 422, 429',
    tolerated: 'JSON or text',
  },
  A20: {
    section: '§4 Assets',
    topic: 'moving an asset to another folder',
    assumed: 'PATCH accepts `parent`, a folder’s uid or null, as in the record',
    tolerated: 'the name that the record uses for its folder',
    names: { asset_parent: parentFields },
  },
  A21: {
    section: '§4 Upload',
    topic: 'session URL in header and body',
    assumed: 'the `Location` header takes precedence, unless it names another origin',
    tolerated: '`location` in the body; absolute, or relative to the base URL; `http:` of the same host behind TLS',
  },
  A22: {
    section: '§4 Upload',
    topic: 'response to HEAD on a session',
    assumed: '200 or 204 with `Upload-Offset`',
    tolerated: 'no `Upload-Length`: the size of the file is used',
  },
  A23: {
    section: '§7 Errors',
    topic: '429 without `Retry-After`',
    assumed: 'wait until the rate limit resets, if no request remains',
    tolerated: 'no rate limit headers: wait one minute',
  },
  A24: {
    section: '§1 Identifiers',
    topic: 'format of a `uid`',
    assumed: 'UUID strings',
    tolerated: 'uppercase, and without dashes',
  },
  A25: {
    section: '§3 States',
    topic: 'asset of a session that no longer exists (404, 410)',
    assumed: 'if some bytes were never sent, it is incomplete whatever its status: a new session is created',
    tolerated:
      'if all may have arrived: complete if `ready` within two minutes, a new session if its status means that bytes are missing, otherwise exit 3',
  },
  A26: {
    section: '§4 Filters',
    topic: 'reach of the `parent` filter',
    assumed: 'folders of the primary workspace, and `root` is its top level; direct children only',
    tolerated:
      'a path or --folder elsewhere is an error before the request; an asset that shows another workspace or folder is one, too; where records show no folder, an asset is in the deepest folder that lists it, and a change is refused if a folder also lists what is below it',
  },
  A27: {
    section: '§2, §4 Playback',
    topic: 'file of a video, audio or document (`source_url`, `source`, `url`)',
    assumed: 'the uploaded file, if its BLAKE3 is the one that this machine uploaded; otherwise unknown',
    tolerated:
      'another BLAKE3 of a video is an error (exit 13) unless --accept-rendition is given; that of audio and documents counts as a rendition',
  },
  A28: {
    section: '§2 Video and asset records',
    topic: 'assets that another machine uploaded',
    assumed: 'the same `name` and `size` as a file: probably the same, not compared',
    tolerated:
      'a field whose name contains `blake3` is compared; without `size`, the file is uploaded beside it, with a warning',
  },
  A29: {
    section: '§2 Video and asset records',
    topic: 'workspace of an asset',
    assumed: '`workspace_uid`, `workspace`, `workspace_id`, `workspaces` or `workspace_name`, all optional',
    tolerated:
      'a uid, a name, an object with either, or a list; text that is the name of no workspace is not known, and neither is a record without any; what the filter `parent` lists is in the primary workspace',
    names: { asset_workspace: ['workspace_uid', 'workspace', 'workspace_id', 'workspaces', 'workspace_name'] },
  },
  A30: {
    section: '§4 Filters',
    topic: 'names that `search` finds ("full-text match")',
    assumed: 'a search for the whole name of an asset finds the asset',
    tolerated:
      'a path is looked up in the list of its folder, whatever a search finds; a name that is not found is "not found by the service’s search"',
  },
  A31: {
    section: '§4 Assets',
    topic: 'GET of an asset after its DELETE ("soft delete")',
    assumed: '404 or 410: it is in the trash',
    tolerated:
      'any other answer proves nothing: an asset that is still listed 3 seconds later is still there (exit 6), another one is in the trash',
  },
  A32: {
    section: '§4 Filters',
    topic: 'day of `created_after` and `created_before`',
    assumed: 'a day of UTC',
    tolerated: 'days of another time zone: assets of the first and last hours of a day are listed a day off',
  },
  A33: {
    section: '§2 Video and asset records',
    topic: 'unit of `duration`',
    assumed: 'seconds, as a number or a decimal text',
    tolerated: 'any other text is shown as it is, and counts as no duration',
  },
  A34: {
    section: '§4 Assets',
    topic: 'workspaces that a list and a search reach',
    assumed: 'all that the API key can see',
    tolerated: 'only one of them: nothing is left out then',
  },
  A35: {
    section: '§4 Endpoints',
    topic: 'redirects',
    assumed: 'none: paths end with a slash',
    tolerated: 'a GET follows one within the same origin; a write does not, and says where it leads',
  },
} as const satisfies Record<string, Omit<Assumption, 'id'>>;

export const assumptions: Assumption[] = Object.entries(assumptionsById).map(([id, row]) => ({ id, ...row }));

type WithNames = Extract<(typeof assumptionsById)[keyof typeof assumptionsById], { names: object }>;
type KeysOf<T> = T extends unknown ? keyof T : never;

/** Keys whose field names a profile can override. */
export type NameKey = KeysOf<WithNames['names']>;

export type NameOverrides = Partial<Record<NameKey, string>>;

const candidateNames: Record<NameKey, readonly string[]> = Object.assign({}, ...assumptions.map(({ names }) => names));

export const nameKeys = Object.keys(candidateNames) as NameKey[];

/** Returns the field names to try for a key, best first. If a profile overrides the key, returns only its name. */
export function fieldNamesFor(key: NameKey, overrides: NameOverrides = {}): readonly string[] {
  const override = overrides[key];
  return override === undefined ? candidateNames[key] : [override];
}

/** Maps lower-case statuses to their meaning (assumption A11): those of the sandbox, and likely names for them. */
const meanings = new Map<string, (typeof statusMeanings)[AssetStatus]>([
  ...Object.entries(statusMeanings),
  ...['error', 'errored', 'rejected', 'cancelled', 'canceled', 'quarantined'].map((each) => [each, 'failed'] as const),
  ...['pending_upload', 'waiting_for_upload', 'awaiting_upload', 'upload_pending', 'created', 'new', 'empty'].map(
    (each) => [each, 'awaiting upload'] as const,
  ),
]);

const lowerCase = (status: unknown) => (typeof status === 'string' ? status.toLowerCase() : '');

/** Classifies a processing status (assumption A11). Unknown statuses count as in progress. */
export function classifyStatus(status: unknown): 'ready' | 'failed' | 'in progress' {
  const text = lowerCase(status);
  const meaning = meanings.get(text) ?? (/^failed_|_failed$/.test(text) ? 'failed' : 'in progress');
  return meaning === 'awaiting upload' ? 'in progress' : meaning;
}

/** Returns true if a processing status means that the service has not received all bytes (assumption A11). */
export const isAwaitingUpload = (status: unknown) => meanings.get(lowerCase(status)) === 'awaiting upload';

/** Returns true if an asset may lack bytes: some services show another status than `uploading` before the first byte. */
export const mayLackBytes = (status: unknown) => classifyStatus(status) === 'in progress';

/** Like `mayLackBytes`, but takes the word of a service that it processes what it has. A `queued` asset may still wait. */
export const isIncomplete = (status: unknown) => mayLackBytes(status) && lowerCase(status) !== 'processing';

/** Returns true if no file can be compared with an asset: its bytes are missing, or the service could not use them. */
export const isUnusable = (status: unknown) => isAwaitingUpload(status) || classifyStatus(status) === 'failed';
