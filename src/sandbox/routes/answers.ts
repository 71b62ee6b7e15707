import { z } from '@hono/zod-openapi';
import {
  detail,
  listItem,
  namedDetail,
  namedListItem,
  videoDetail,
  videoListItem,
} from './record-schemas.ts';
import { errorAnswer, folder, pageOf, workspace } from './schemas.ts';

/** Answers that hold more than the specification shows. The others are the same in both modes. */
const full = {
  listItem,
  videoListItem,
  detail,
  videoDetail,
  workspace,
  folder,
  pageOf,
  errorAnswer,
};

/** What §4 cannot do without: a uid for paths, the name that was given, "nested children". */
const bareFolder = z
  .object({
    uid: z.guid(),
    name: z.string(),
    get children() {
      return z.array(bareFolder);
    },
  })
  .openapi('Folder');

/**
 * What the specification shows, and where it shows nothing, the least that its own mechanics need,
 * under the name that is guessed first: `tags` for "tag slugs", `uid` of a workspace for its paths.
 * Embed settings, playback info and request bodies stay as they are: without a flag, a list, a URL
 * inside `source` nothing could be done with them. Headers that TUS itself demands stay too, but
 * Upload-Length of HEAD, since §4 names the offset alone.
 */
const named = {
  listItem: namedListItem,
  videoListItem: namedListItem,
  detail: namedDetail,
  videoDetail: namedDetail,
  workspace: workspace.pick({ uid: true }).openapi('Workspace'),
  folder: bareFolder,
  pageOf: <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) }),
  errorAnswer: z.object({ error: z.object({ message: z.string() }) }).openapi('Error'),
};

type Shapes = typeof full;

/** What a route makes of a record before it is said: always the whole. */
export type Said<Name extends Exclude<keyof Shapes, 'pageOf'>> = z.infer<Shapes[Name]>;

export type Answers = Shapes & {
  /** The value as it is sent: with `--strict`, what its schema does not name is left out. */
  serialized<T>(schema: z.ZodType<T>, value: T): T;
};

export function answersFor(strict: boolean): Answers {
  return strict
    ? // Routes make whole records in both modes; the schema that they declare is what remains.
      { ...(named as unknown as Shapes), serialized: (schema, value) => schema.parse(value) }
    : { ...full, serialized: (_schema, value) => value };
}
