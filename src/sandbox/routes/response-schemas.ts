import { z } from '@hono/zod-openapi';
import { type AssetType, assetStatuses } from '../../contract/asset-values.ts';
import { errorAnswer, folder, pageOf, workspace } from './schemas.ts';

const status = z.enum(assetStatuses).openapi('AssetStatus');

/** Asset types with the generic shape: "The asset kinds are video, audio, image and generic" (§2). */
const genericTypes = ['document', 'third_party', 'generic'] as const satisfies AssetType[];

const common = {
  uid: z.guid(),
  name: z.string(),
  description: z.string(),
  status,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  thumbnail_url: z.url().nullable(),
  tags: z.array(z.string()),
  size: z.number().int(),
  parent: z.guid().nullable(),
};

/** Fields that depend on the asset type. Every API record has `duration`, because §2 names it. */
const timed = { duration: z.number().nullable() };
const untimed = { duration: z.null() };
const dimensionFields = { width: z.number().int().nullable(), height: z.number().int().nullable() };

const typeFields = {
  video: { type: z.literal('video'), ...timed, ...dimensionFields },
  audio: { type: z.literal('audio'), ...timed },
  image: { type: z.literal('image'), ...untimed, ...dimensionFields },
  generic: { type: z.enum(genericTypes), ...untimed },
};

const detailed = {
  workspace: z.guid(),
  filename: z.string(),
  content_type: z.string().nullable(),
  failure_reason: z.string().nullable(),
};

/** Builds the union of the shapes of all types: "The asset kinds are video, audio, image and generic" (§2). */
const unionOf = <Fields extends z.ZodRawShape, Name extends string>(name: Name, fields: Fields) =>
  z
    .discriminatedUnion('type', [
      z.object({ ...common, ...typeFields.video, ...fields }).openapi(`Video${name}`),
      z.object({ ...common, ...typeFields.audio, ...fields }).openapi(`Audio${name}`),
      z.object({ ...common, ...typeFields.image, ...fields }).openapi(`Image${name}`),
      z.object({ ...common, ...typeFields.generic, ...fields }).openapi(`Generic${name}`),
    ])
    .openapi(`Asset${name}`);

/** Schema of a list item: "The asset list returns a union of list-item shapes" (§2). */
const listItem = unionOf('ListItem', {});

/** Schema of an asset: "The asset detail returns the detail shape of the asset's type" (§2). */
const detail = unionOf('Detail', detailed);

/** Schema with only the fields that §2 names for every type. `type` is named only in playback info. */
const { uid, name, description, created_at, thumbnail_url, tags } = common;
const strictRecord = z.object({ uid, name, description, status, created_at, ...timed, thumbnail_url, tags });
const strictListItem = strictRecord.openapi('AssetListItem');
const strictDetail = strictRecord.openapi('AssetDetail');

/** Response schemas with more fields than the specification shows. Other responses do not depend on `--strict`. */
const fullSchemas = {
  listItem,
  detail,
  workspace,
  folder,
  pageOf,
  errorAnswer,
  videoListItem: listItem.options[0],
  videoDetail: detail.options[0],
};

/** Folder schema with only the fields that §4 requires: a uid for paths, the given name, "nested children". */
const strictFolder = z
  .object({
    uid: z.guid(),
    name: z.string(),
    get children() {
      return z.array(strictFolder);
    },
  })
  .openapi('Folder');

/**
 * Response schemas with only the specified fields (`--strict`). If the specification names no fields, they contain
 * the minimum that it requires, under the first assumed name, such as `tags` for "tag slugs". Embed settings, playback
 * info and request bodies are unchanged, since they would be useless without a flag, a list, or a URL. TUS headers
 * stay, except Upload-Length in a HEAD response, since §4 names only the offset.
 */
const strictSchemas = {
  listItem: strictListItem,
  videoListItem: strictListItem,
  detail: strictDetail,
  videoDetail: strictDetail,
  workspace: workspace.pick({ uid: true }).openapi('Workspace'),
  folder: strictFolder,
  pageOf: <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) }),
  errorAnswer: z.object({ error: z.object({ message: z.string() }) }).openapi('Error'),
};

type SchemaSet = typeof fullSchemas;

/** Complete response body before serialization. */
export type ResponseBody<Name extends Exclude<keyof SchemaSet, 'pageOf'>> = z.infer<SchemaSet[Name]>;

export type ResponseSchemas = SchemaSet & {
  /** Returns the value to send. With `--strict`, omits fields that the schema does not name. */
  serialize<T>(schema: z.ZodType<T>, value: T): T;
};

export function responseSchemas(strict: boolean): ResponseSchemas {
  return strict
    ? // Routes build complete response bodies in both modes. The strict schema removes the extra fields.
      { ...(strictSchemas as unknown as SchemaSet), serialize: (schema, value) => schema.parse(value) }
    : { ...fullSchemas, serialize: (_schema, value) => value };
}
