import { z } from 'zod';

/* Schemas of mediactl's own output. The types of the records are inferred from them, and `npm run generate` writes
   them to docs/schemas.json. Other files import only types from here, so that zod stays out of the program. */

const text = z.string();
const optionalText = text.nullable();
const integer = z.number().meta({ type: 'integer' });
const optionalInteger = integer.nullable();
const uid = text.meta({ format: 'uuid' });
const uri = text.meta({ format: 'uri' });
const dateTime = text.meta({ format: 'date-time' });
const blake3 = text.regex(/^[0-9a-f]{64}$/);

const errorRecord = z.strictObject({
  code: text.regex(/^[a-z_0-9]+$/).describe('stable, for scripts'),
  message: text,
  cause: optionalText,
  hint: optionalText.describe('what to do next'),
  status: optionalInteger.describe('HTTP status, if a response caused the error'),
  exit_code: integer.min(1).max(143),
  retryable: z.boolean(),
  retry_after: optionalInteger.describe('seconds'),
  details: z.unknown(),
});
const errorOrNull = errorRecord.nullable();

const uploadRecord = z.strictObject({
  path: text,
  outcome: z
    .enum(['uploaded', 'there', 'same', 'not_compared', 'exists', 'elsewhere', 'queued', 'left', 'failed'])
    .describe(
      'nothing was sent for: there (already uploaded), same (duplicate content; see duplicate_of), not_compared (the folder has an asset of the same name and size), exists (of the same name, with --ignore-existing), elsewhere (being uploaded by another run), queued (for a worker)',
    ),
  queue_id: optionalText.describe('id of the job, if a queue was used'),
  asset_uid: optionalText,
  session_uid: optionalText,
  name: optionalText.describe('name of the asset'),
  size_bytes: optionalInteger,
  bytes_sent: optionalInteger.describe('bytes sent in this run'),
  resumed_from: optionalInteger.describe('offset in bytes; null for a new upload'),
  requests: optionalInteger,
  duration_ms: optionalInteger,
  blake3: blake3.nullable(),
  verified: z.boolean().nullable().describe('null if the service returned no checksum'),
  status: optionalText.describe('status of the asset, with --wait'),
  error: errorOrNull,
  duplicate_of: optionalText.describe('folder and name of the asset with the same content, if outcome is same'),
});

const link = z.strictObject({
  link: z.enum(['master playlist', 'media playlist', 'init segment', 'first segment', 'file']),
  url: text,
  ok: z.boolean(),
  status: optionalInteger,
  content_type: optionalText,
  bytes: optionalInteger,
  problem: optionalText,
});

/** `commands --json` leaves out what is empty. */
const command = z.strictObject({
  path: text,
  aliases: z.array(text).optional(),
  short: z.array(text).optional().describe('short forms of the command'),
  summary: text,
  description: text,
  same_as: text.optional().describe('the assets command that has the same options and examples'),
  without: z.array(text).optional().describe('options of that command that this one lacks'),
  arguments: z
    .array(
      z.strictObject({
        term: text,
        description: text.optional(),
        choices: z.array(text).optional(),
        values: text.optional(),
        isVariadic: z.literal(true).optional(),
      }),
    )
    .optional(),
  options: z
    .array(
      z.strictObject({
        flags: text,
        short: text.optional(),
        long: text.optional(),
        takesValue: z.literal(true).optional(),
        choices: z.array(text).optional(),
        values: text.optional(),
        description: text,
        defaultValue: text.optional(),
      }),
    )
    .optional()
    .describe('options of this command only; the root lists those of every command'),
  examples: z.array(text).optional(),
  get children() {
    return z.array(command).optional();
  },
});

const count = z.strictObject({ files: integer, bytes: integer });

/** Schemas by the name that `mediactl schema` takes. The service's records are passed through and have none. */
export const schemas = {
  upload: z.array(uploadRecord),
  error: z.strictObject({ error: errorRecord }),
  commands: command,
  written: z.array(z.strictObject({ uid, name: optionalText, done: z.boolean(), error: errorOrNull })),
  downloads: z.array(
    z.strictObject({
      asset_uid: uid,
      path: optionalText,
      size_bytes: optionalInteger,
      verified: z.boolean().nullable(),
      outcome: z.enum(['downloaded', 'there', 'failed']),
      error: errorOrNull,
    }),
  ),
  sheet: z.strictObject({ path: text, assets: integer, missing_thumbnails: integer, size_bytes: integer }),
  domains: z.array(
    z.strictObject({ domain: text, change: z.enum(['added', 'removed']).nullable(), error: errorOrNull }),
  ),
  check: z.strictObject({
    asset_uid: uid,
    kind: z.enum(['hls', 'file', 'image', 'document', 'embed']),
    plays: z.boolean(),
    links: z.array(link),
  }),
  plan: z.array(z.strictObject({ method: text, url: uri, body: z.unknown() })),
  'upload-plan': z.array(
    z.strictObject({
      path: text,
      outcome: z.enum(['new', 'changed', 'there', 'same', 'not_compared', 'exists', 'gone']),
      asset_uid: optionalText,
      size_bytes: optionalInteger,
      folder: optionalText,
      workspace: text,
      content_type: optionalText,
      request: optionalText,
      duplicate_of: optionalText,
    }),
  ),
  'plan-summary': z.strictObject({
    there: count,
    changed: count,
    same: count,
    not_compared: count,
    exists: count,
    new: count,
    requests: integer,
    bytes: integer,
    hours: z.number().nullable(),
    limit: z.number().nullable(),
    gone: integer,
    outlive_sessions: integer,
  }),
  'finished-upload': z.array(
    z.strictObject({
      service: uri,
      workspace: uid,
      folder: optionalText,
      path: text,
      size_bytes: integer,
      mtime_ns: text.describe('modification time in nanoseconds; for a file on a web server, its ETag'),
      blake3: blake3.nullable().describe('null if only name and size were compared with the asset'),
      verified: z.boolean().nullable(),
      asset_uid: uid,
      session_uid: text,
      name: text,
      state: z.enum(['pending', 'ready', 'failed']),
      reason: optionalText,
      at: dateTime,
    }),
  ),
  'queued-upload': z.array(
    z.strictObject({
      id: text,
      path: text.describe('path on the workers; a URL has no query string here'),
      state: z.enum(['waiting', 'uploading', 'retrying', 'failed', 'uploaded']),
      size_bytes: optionalInteger,
      offset_bytes: optionalInteger.describe('progress that the worker last reported'),
      worker: optionalText,
      attempts: integer.describe('number of attempts by workers'),
      stalls: integer.describe('number of workers that crashed during the upload'),
      asset_uid: optionalText,
      session_uid: optionalText,
      name: optionalText,
      bytes_sent: optionalInteger.describe('bytes sent by the worker that finished the upload'),
      resumed_from: optionalInteger,
      requests: optionalInteger,
      duration_ms: optionalInteger,
      blake3: blake3.nullable(),
      verified: z.boolean().nullable(),
      base_url: optionalText,
      queued_at: dateTime,
      begun_at: optionalText,
      done_at: optionalText,
      error: errorOrNull.describe('why the upload failed or is waiting'),
    }),
  ),
  differences: z.array(
    z.strictObject({
      path: text,
      difference: z.enum(['missing', 'moved', 'changed', 'failed', 'not_compared', 'different', 'extra']),
      asset_uid: optionalText,
    }),
  ),
} satisfies Record<string, z.ZodType>;

type OutputOf<Name extends keyof typeof schemas> = z.infer<(typeof schemas)[Name]>;

export type OutputRecord<Name extends keyof typeof schemas> =
  OutputOf<Name> extends readonly (infer Item)[] ? Item : OutputOf<Name>;

/** Generates docs/schemas.json: JSON Schemas (2020-12) by name. */
export const schemasPage = () =>
  `${JSON.stringify(Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, z.toJSONSchema(schema)])))}\n`;
