import { type AssetStatus, statusMeanings } from './asset-values.ts';

/**
 * An assumption about a detail that the specification marks "not shown". Code and documentation cite it by its
 * `id`. The field names in `names` are tried in order. A profile can override them with the config key
 * `names.<key>`, so a wrong guess can be fixed without a release.
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
    topic: 'fields beside `items`',
    assumed: '`count` is the grand total',
    tolerated:
      '`total`, `total_count`, the largest of several, or none: then the list ends at an empty or shorter page, or at a `next` of null after others; a plain array is the whole list',
    names: { page_total: ['count', 'total', 'total_count'] },
  },
  A02: {
    section: '§4 Folders',
    topic: 'name and parent in folder bodies',
    assumed: '`name` and `parent_uid`; null is the root',
    tolerated:
      '`parent_folder_uid`, `parent`; the key seen in the tree wins, and for the parent the one that holds the uid of the folder above',
    names: { folder_name: ['name'], folder_parent: ['parent_uid', 'parent_folder_uid', 'parent'] },
  },
  A03: {
    section: '§2 Folder',
    topic: 'folder record',
    assumed: '`uid`, `name`, `children`',
    tolerated:
      '`subfolders`, `folders`, or the only list whose name has child, folder, node or nested in it; the parent as string, object or null',
    names: { folder_children: ['children', 'subfolders', 'folders'] },
  },
  A04: {
    section: '§4 Folders',
    topic: 'answer of the folder DELETE',
    assumed: 'any 2xx is success',
    tolerated: 'a 4xx is shown unchanged',
  },
  A05: {
    section: '§2 Embed settings',
    topic: 'restriction flag',
    assumed: '`domain_restriction_enabled`, `restriction_enabled` or `enabled`',
    tolerated:
      'the only boolean, if its name says a restriction of domains: `restricted`, `domains_only`, `allowlist_enabled`; `!NAME` sets one that is true while every site may embed',
    names: { embed_enabled: ['enabled', 'domain_restriction_enabled', 'restriction_enabled'] },
  },
  A06: {
    section: '§2 Embed settings',
    topic: 'allow-list',
    assumed: '`domains`, `allowed_domains` or `embed_domains`',
    tolerated:
      'the only array, if its entries look like domains and its name does not say otherwise (`admins`, `blocked`); strings or `{domain}`',
    names: { embed_domains: ['domains', 'allowed_domains', 'embed_domains'] },
  },
  A07: {
    section: '§4 Workspaces',
    topic: 'domain body',
    assumed: '`domain`',
    tolerated: '`hostname`',
    names: { embed_domain: ['domain', 'hostname'] },
  },
  A08: {
    section: '§4 Assets',
    topic: 'fields that PATCH accepts',
    assumed: '`name`, `description`, `tags` (slugs)',
    tolerated: 'anything given by name; tags shown as texts, `{slug}`, or `{name}` if the name is a slug',
    names: { asset_tags: ['tags'] },
  },
  A09: {
    section: '§2 Video and asset records',
    topic: 'fields past the named ones',
    assumed: '`type`, `tags`, `updated_at`, `parent`, `size`, all optional',
    tolerated: 'unknown fields are kept and shown',
  },
  A10: {
    section: '§2 Workspace',
    topic: 'workspace record',
    assumed: '`uid`, `name`, `is_primary`',
    tolerated: 'unknown fields are kept and shown',
  },
  A11: {
    section: '§3 States',
    topic: 'status values',
    assumed:
      '`ready` succeeds; `failed`, `error`, `errored`, `rejected`, `cancelled`, `canceled`, `quarantined`, `failed_…`, `…_failed` fail; `uploading` lacks bytes',
    tolerated:
      'upper and lower case; every other value is in progress until the timeout; `created`, `pending_upload` and the like lack bytes',
  },
  A12: {
    section: '§4 Filters',
    topic: 'values of the type and status filters',
    assumed:
      '`video`, `audio`, `image`, `document`, `third_party`, `generic`; `queued`, `processing`, `ready`, `failed`',
    tolerated: 'any other value is passed through',
  },
  A13: {
    section: '§7 Errors',
    topic: 'inside the `error` object',
    assumed: '`code`, `message`, `details`',
    tolerated: 'a string; `detail`; a list of `{loc, msg, ctx}`; text; HTML',
  },
  A14: {
    section: '§2 Playback info',
    topic: 'audio `source` and `waveform_url`',
    assumed: '`{url, expires_at}`; the waveform is JSON, `{duration, peaks}`, each peak 0 to 1',
    tolerated: 'a string; a list of numbers, `{bits, data}` of audiowaveform, an image; any other waveform is left out',
  },
  A15: {
    section: '§2 Playback info',
    topic: 'image `variants[]`',
    assumed: '`url`, `width`, `height`',
    tolerated: '`url` as string or object; `size` or `name` instead of dimensions',
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
    tolerated: 'nothing is blocked locally; a 403 is explained',
  },
  A18: {
    section: '§4 Upload',
    topic: 'digest in `X-Checksum-Blake3`',
    assumed: 'of the whole file, in hex',
    tolerated:
      'base64; a digest equal to the last chunk’s is reported as that; any other form leaves the upload unverified, with a warning',
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
    assumed: 'PATCH takes `parent`, a folder’s uid or null, as the record shows it',
    tolerated: 'the name under which the record shows its folder',
  },
  A21: {
    section: '§4 Upload',
    topic: 'the session URL in header and body',
    assumed: 'the `Location` header wins',
    tolerated: '`location` of the body; absolute, or relative to the base URL, on the same origin',
  },
  A22: {
    section: '§4 Upload',
    topic: 'answer of HEAD to a session',
    assumed: '200 or 204 with `Upload-Offset`',
    tolerated: 'no `Upload-Length`: the size of the file counts',
  },
  A23: {
    section: '§7 Errors',
    topic: '429 without `Retry-After`',
    assumed: 'wait until the rate limit resets, if no request remains',
    tolerated: 'no rate limit headers: a minute',
  },
  A24: {
    section: '§1 Identifiers',
    topic: 'form of a `uid`',
    assumed: 'UUID strings',
    tolerated: 'upper case, and without dashes',
  },
  A25: {
    section: '§3 States',
    topic: 'the asset of a session that is gone (404, 410)',
    assumed: 'lacks bytes if some were never sent, whatever its status: a new session is made',
    tolerated:
      'if all may have arrived: whole once `ready` within two minutes, a new session if its status says that bytes are missing, else exit 3',
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
