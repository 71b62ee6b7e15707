import { z } from '@hono/zod-openapi';
import {
  type AssetFilterKind,
  type AssetFilterName,
  type AssetFilterRow,
  filtersOf,
  orderings,
} from '../../contract/asset-filters.ts';
import type { AssetType } from '../../contract/asset-values.ts';
import type { Collection } from '../../contract/paths.ts';
import { slugPattern } from '../../contract/slug.ts';

/** Returns NaN for text that is not a plain decimal number, such as `0x10` or `1e1`, so that validation fails. */
const digits = (text: unknown) => (typeof text === 'string' && !/^\d+$/.test(text) ? NaN : text);

/** A text without NUL characters, at which SQLite would truncate it. */
const text = z.string().refine((value) => !value.includes('\0'), 'must not contain NUL characters');

/** Pagination parameters: "limit … 1 to 100, default 20", "offset … at least 0" (§4 Common list parameters). */
export const listParameters = z.object({
  limit: z
    .preprocess(digits, z.coerce.number().int().min(1).max(100))
    .default(20)
    .openapi({ type: 'integer', minimum: 1, maximum: 100, default: 20 }),
  offset: z
    .preprocess(digits, z.coerce.number().int().min(0))
    .default(0)
    .openapi({ type: 'integer', minimum: 0, default: 0 }),
});

export const uidParameter = z.object({ uid: z.guid().toLowerCase() });

const toPascalCase = (name: string) => name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());

/** Schemas of a filter's values by its kind. */
const filterSchemas: Record<AssetFilterKind, (row: AssetFilterRow) => z.ZodType<string>> = {
  search: () => z.string(),
  slug: () => z.string().min(1),
  choice: ({ name, values = [] }) => z.enum(values).openapi(`Asset${toPascalCase(name)}Filter`),
  date: () => z.iso.date(),
  folder: () => z.union([z.literal('root'), z.guid().toLowerCase()]),
};

const filterParameters = (collection: Collection) =>
  Object.fromEntries(filtersOf(collection).map((row) => [row.name, filterSchemas[row.kind](row).optional()])) as {
    [Name in AssetFilterName]: z.ZodOptional<z.ZodType<string>>;
  };

/** Query parameters for both lists: pagination, filters and ordering (§4). */
export const videoQuery = listParameters.extend({
  ...filterParameters('videos'),
  ordering: z.enum(orderings).default('-created_at'),
});

/** Query parameters for the asset list, including "Assets list only: `type` … and `parent`" (§4). */
export const assetQuery = videoQuery.extend(filterParameters('assets'));

/** Query schemas by path, relative to the API prefix. All other endpoints have no query parameters. */
const querySchemas = new Map<string, z.ZodObject>([
  ['/assets/', assetQuery],
  ['/videos/', videoQuery],
  ['/workspaces/', listParameters],
]);

export const queryNames = (path: string): string[] => Object.keys(querySchemas.get(path)?.shape ?? {});

/** Maximum length of a description in characters. */
export const maxDescriptionLength = 10_000;

/** Body of an asset update: "partial update of editorial fields" (§4). Unknown fields are rejected. */
export const editorialFields = z
  .strictObject({
    name: text.trim().min(1).max(500),
    description: text.max(maxDescriptionLength),
    tags: z.array(z.string().regex(slugPattern, 'a tag must be a slug')).max(100),
    // Assumption A20: the uid of the new parent folder; null for the top level.
    parent: z.guid().nullable(),
  })
  .partial()
  .openapi('EditorialFields');

export const workspace = z
  .object({ uid: z.guid(), name: z.string(), is_primary: z.boolean(), created_at: z.iso.datetime() })
  .openapi('Workspace');

/** Folder schema (§2). The specification shows a nested tree (§4) but no fields. */
export const folder = z
  .object({
    uid: z.guid(),
    name: z.string(),
    parent_uid: z.guid().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    get children() {
      return z.array(folder);
    },
  })
  .openapi('Folder');

const folderName = text
  .trim()
  .min(1)
  .max(255)
  .refine((name) => !name.includes('/'), 'a folder name cannot contain a slash');

/** Body of a folder creation: "folder name and optional parent" (§4). */
export const newFolder = z
  .strictObject({ name: folderName, parent_uid: z.guid().toLowerCase().nullable().optional() })
  .openapi('NewFolder');

/** Body of a folder update: "rename and/or move under another parent (partial)" (§4). Null means the top level. */
export const folderChange = newFolder.partial().openapi('FolderChange');

export const folderParameter = uidParameter.extend({ folder_uid: z.guid().toLowerCase() });

/** Embed settings schema (§2). The specification shows no fields. */
export const embedSettings = z.object({ enabled: z.boolean(), domains: z.array(z.string()) }).openapi('EmbedSettings');

export const embedChange = z.strictObject({ enabled: z.boolean() }).openapi('EmbedChange');

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';

/** Schema of an embed domain, which is a host name without scheme, port, path or wildcard. */
export const embedDomain = z
  .strictObject({
    domain: z
      .string()
      .trim()
      .toLowerCase()
      .max(253)
      .regex(new RegExp(`^${label}(?:\\.${label})*$`), 'a domain must be a host name only'),
  })
  .openapi('EmbedDomain');

/** Builds the schema of a page of results (§2 Page envelope). */
export const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), count: z.number().int() });

/** Upload session schema (§2). */
export const uploadSession = z
  .object({
    uid: z.string(),
    location: z.string(),
    asset_uid: z.guid(),
    total_size: z.number().int(),
    expires_at: z.iso.datetime(),
  })
  .openapi('UploadSession');

/** Error response: "a JSON body with an `error` object. Fields inside that object: not shown" (§7). */
export const errorAnswer = z
  .object({ error: z.object({ code: z.string(), message: z.string(), details: z.unknown().optional() }) })
  .openapi('Error');

export const player = z
  .object({
    uid: z.guid(),
    playback_token: z.string(),
    player_config: z.object({ auto_play: z.boolean(), theme: z.string() }),
    items: z.array(z.object({ asset: z.object({ uid: z.guid(), thumbnail_url: z.url() }) })),
  })
  .openapi('PlayerData');

const signed = z.object({ url: z.url(), expires_at: z.iso.datetime() });

type PlaybackType = Exclude<AssetType, 'generic'>;

const timelineFields = {
  chapters: z.array(z.object({ title: z.string(), start_time: z.number() })),
  resume_position_seconds: z.number().nullable(),
};

const variant = z.object({ url: signed, width: z.number().int().nullable(), height: z.number().int().nullable() });

/**
 * Builds the playback info schema for one type. All other fields are optional, because they are omitted if
 * `blocked` is true and "the client does not play" (§4).
 */
const playbackInfoSchema = <Type extends PlaybackType, Fields extends z.ZodRawShape>(type: Type, fields: Fields) =>
  z.object({ type: z.literal(type), blocked: z.boolean() }).extend(z.object(fields).partial().shape);

/** Playback info schema (§2), in which clients "branch on `type`". */
export const playbackInfo = z
  .discriminatedUnion('type', [
    playbackInfoSchema('video', {
      hls_url: signed.nullable(),
      source_url: signed.nullable(),
      preview_sprites_url: signed.nullable(),
      ...timelineFields,
    }).openapi('VideoPlaybackInfo'),
    playbackInfoSchema('audio', {
      source: signed.nullable(),
      ...timelineFields,
      subtitle_tracks: z.array(signed.extend({ label: z.string(), language: z.string() })),
      waveform_url: signed.nullable(),
    }).openapi('AudioPlaybackInfo'),
    playbackInfoSchema('image', { variants: z.array(variant) }).openapi('ImagePlaybackInfo'),
    playbackInfoSchema('document', {
      url: z.url(),
      thumbnails: z.array(signed.extend({ page: z.number().int() })),
    }).openapi('DocumentPlaybackInfo'),
    playbackInfoSchema('third_party', { embed_url: z.url() }).openapi('ThirdPartyPlaybackInfo'),
  ])
  .openapi('PlaybackInfo');

export const jsonContent = <T extends z.ZodType>(schema: T, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});

export const jsonBody = <T extends z.ZodType>(schema: T, description: string) => ({
  ...jsonContent(schema, description),
  required: true as const,
});
