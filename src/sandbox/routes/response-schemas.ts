import { z } from '@hono/zod-openapi';
import { detail, listItem, strictDetail, strictListItem } from './record-schemas.ts';
import { errorAnswer, folder, pageOf, workspace } from './schemas.ts';

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
