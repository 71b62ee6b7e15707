import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod/mini';

/* What the tools accept and answer. `tools/list` has all of it, and is at most 9 KB. */

/** Adds to a schema how `tools/list` shows it. Its smallest form, since the client reads all of them. */
function shown<Schema extends z.ZodMiniType>(schema: Schema) {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  const props = schema['~standard'] as StandardSchemaWithJSON<z.input<Schema>, z.output<Schema>>['~standard'];
  return { '~standard': { ...props, jsonSchema: { input: () => json, output: () => json } } };
}

const inputOf = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => shown(z.strictObject(shape));
const outputOf = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => shown(z.object(shape));

const text = z.string();
const optionalText = z.nullable(text);
const count = z.number();
const nextOffset = z.nullable(count);
const offset = z.optional(z.number().check(z.minimum(0), z.maximum(100_000)));
const short = text.check(z.refine((value) => value !== '' && value.length <= 1000, 'empty or too long'));
const tags = z.array(short).check(z.maxLength(50));
const details = z.record(text, z.unknown());

// Not as patterns, which `tools/list` would repeat.
const uid = text.check(z.refine((value) => /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(value), 'not a uid'));
const id = text.check(z.refine((value) => /^[0-9a-f]{1,64}$/.test(value), 'not an id'));

export const searchInput = inputOf({
  search: z.optional(short),
  type: z.optional(z.enum(['video', 'audio', 'image', 'document', 'third_party', 'generic'])),
  status: z.optional(short),
  tag: z.optional(short),
  folder: z.optional(short).check(z.describe('path or uid; / is the top level')),
  limit: z.optional(z.number().check(z.minimum(1), z.maximum(100))),
  offset,
});

export const searchOutput = outputOf({
  assets: z.array(
    z.object({
      ...{ uid: text, name: optionalText, type: optionalText, status: optionalText },
      tags: z.nullable(z.array(text)),
      folder: optionalText.check(z.describe('uid')),
      ...{ created_at: optionalText, duration: z.nullable(z.number()) },
    }),
  ),
  next_offset: nextOffset,
});

export const getInput = inputOf({ uid });
export const getOutput = outputOf({ asset: details });

export const foldersInput = inputOf({ below: z.optional(short).check(z.describe('path')), offset });
export const foldersOutput = outputOf({
  folders: z.array(z.object({ uid: text, path: text })),
  next_offset: nextOffset,
});

export const playbackInput = inputOf({ uid, links: z.optional(z.boolean()) });
export const playbackOutput = outputOf({
  ...{ status: optionalText, playable: z.boolean(), type: optionalText },
  links: z.array(z.object({ kind: text, url: optionalText, expires_at: optionalText })),
});

export const uploadInput = inputOf({
  path: short.check(z.describe('relative to the first root')),
  folder: z.optional(short).check(z.describe('path or uid; created if missing')),
  tags: z.optional(tags),
  include: z.optional(tags).check(z.describe('globs, for a directory')),
  exclude: z.optional(tags),
});

export const uploadPlanOutput = outputOf({
  ...{ plan_id: text, files: count, bytes: count, counted_all: z.boolean(), sample: z.array(text), folder: text },
  requests: count.check(z.describe('at most')),
  requests_left: z.nullable(z.number()),
});

const wait_seconds = z.optional(z.number().check(z.minimum(0), z.maximum(40)));

export const startInput = inputOf({ plan_id: id, wait_seconds });

export const jobInput = inputOf({
  job_id: id,
  wait_seconds,
  offset,
  stop: z.optional(z.boolean()),
});

export const jobOutput = outputOf({
  job_id: text,
  state: z.enum(['uploading', 'processing', 'done', 'stopped', 'failed']),
  counts: z.record(text, z.number()).check(z.describe('files by outcome')),
  ...{ sent_bytes: z.number(), ready: count, rate_limited_until: optionalText },
  next: optionalText.check(z.describe('what to do now')),
  warnings: z.array(text),
  error: z.nullable(details),
  files: z.array(
    z.object({ path: text, outcome: text, uid: optionalText, status: optionalText, error: z.optional(details) }),
  ),
  next_offset: nextOffset,
});

export const changeInput = inputOf({
  plan_id: z.optional(id),
  uids: z.optional(z.array(uid).check(z.minLength(1), z.maxLength(50))),
  name: z.optional(short),
  description: z.optional(text.check(z.maxLength(10_000))),
  add_tags: z.optional(tags),
  remove_tags: z.optional(tags),
  folder: z.optional(short).check(z.describe('path or uid; / is the top level')),
});

const named = z.object({ uid: text, name: optionalText });
export const changeOutput = outputOf({
  ...{ plan_id: text, applied: z.boolean(), changed: z.array(named) },
  left: z.array(z.object({ uid: text, name: optionalText, tags: z.nullable(z.array(text)) })),
  failed: z.array(z.object({ uid: text, error: details })),
  warnings: z.array(text),
});
