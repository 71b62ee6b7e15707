import { z } from 'zod';
import { checkOutcomeNames, checkOutcomes, evidenceKinds, evidenceNames } from '../../shared/file-evidence.ts';
import {
  describeOutcomes,
  outcomeNames,
  plannedNames,
  plannedOutcomes,
  uploadOutcomes,
} from '../../shared/upload-outcomes.ts';

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
  http_status: optionalInteger.describe('if a response caused the error'),
  exit_code: integer.min(1).max(143),
  retryable: z.boolean(),
  retry_after_seconds: optionalInteger,
  details: z.unknown(),
});
const errorOrNull = errorRecord.nullable();

const uploadRecord = z.strictObject({
  path: text,
  outcome: z.enum(outcomeNames).describe(describeOutcomes(uploadOutcomes)),
  job_id: optionalText.describe('id in the queue, if one was used'),
  asset_uid: optionalText,
  session_uid: optionalText,
  asset_name: optionalText,
  size_bytes: optionalInteger,
  bytes_sent: optionalInteger.describe('bytes sent in this run'),
  resumed_from_bytes: optionalInteger.describe('offset; null for a new upload'),
  request_count: optionalInteger,
  elapsed_ms: optionalInteger,
  blake3: blake3.nullable(),
  verified: z.boolean().nullable().describe('null if the service returned no checksum'),
  asset_status: optionalText.describe('with --wait'),
  error: errorOrNull,
  duplicate_of: optionalText.describe('folder and name of the asset with the same content, if outcome is duplicate'),
  left_by: optionalText.describe('programs that leave such a file, if outcome is left_out'),
  moved_to: optionalText.describe('path of the file now, with --move-to'),
});

const probeStep = z.strictObject({
  step: z.enum(['master_playlist', 'media_playlist', 'init_segment', 'first_segment', 'file']),
  url: text,
  ok: z.boolean(),
  http_status: optionalInteger,
  content_type: optionalText,
  size_bytes: optionalInteger,
  error: optionalText,
});

const playbackUrl = z.strictObject({
  asset_uid: text,
  url: uri,
  expires_at: optionalText.describe('null if the service does not say'),
});

/** Empty fields are left out, but for `output_schema` of the command itself. */
const command = z.strictObject({
  path: text,
  aliases: z.array(text).optional(),
  shortcuts: z.array(text).optional(),
  summary: text,
  description: text,
  arguments: z
    .array(
      z.strictObject({
        placeholder: text,
        description: text.optional(),
        choices: z.array(text).optional(),
        completes: text.optional().describe('kind of names that Tab completes'),
      }),
    )
    .optional(),
  options: z
    .array(
      z.strictObject({
        flags: text,
        description: text,
        choices: z.array(text).optional(),
        completes: text.optional(),
        default_value: text.optional(),
      }),
    )
    .optional()
    .describe('options of this command only'),
  examples: z.array(text).optional(),
  output_schema: z
    .record(text, z.unknown())
    .nullable()
    .optional()
    .describe(
      'JSON Schema of the output with --json, not in children; null if it has none, as for records of the service; anyOf if it depends on options, which each title names',
    ),
  get children() {
    return z.array(command).optional();
  },
});

const assetSections = ['largest', 'longest', 'same_checksum', 'same_name_and_size', 'not_ready', 'failed'] as const;

/** Schemas by their name in docs/schemas.json. The service's records are passed through and have none. */
export const schemas = {
  upload: z.array(uploadRecord),
  error: z.strictObject({ error: errorRecord }),
  stopped: z.strictObject({
    stopped: z.strictObject({
      message: text,
      files_remaining_count: optionalInteger.describe('files not started or not finished; null if not all were found'),
      hint: text,
    }),
  }),
  commands: z.array(z.strictObject({ path: text, shortcuts: z.array(text).optional(), summary: text })),
  command,
  changes: z.array(
    z.strictObject({
      uid: uid.describe('of an asset or a folder'),
      name: optionalText,
      outcome: z
        .enum(['planned', 'updated', 'moved', 'deleted', 'conflict', 'failed'])
        .describe('planned: undo --dry-run; conflict: others have changed it since, so undo left it'),
      error: errorOrNull,
    }),
  ),
  apply: z.array(
    z.strictObject({
      line: integer.min(1).describe('line of the table'),
      uid: uid.nullable(),
      name: optionalText,
      column: z.enum(['name', 'description', 'tags', 'folder']).nullable().describe('null for a whole row'),
      before: optionalText.describe('value in the library'),
      after: optionalText.describe('value in the table'),
      outcome: z
        .enum([
          'planned',
          'updated',
          'unchanged',
          'conflict',
          'outdated',
          'kept',
          'refused',
          'not_found',
          'skipped',
          'invalid',
          'failed',
        ])
        .describe(
          'planned: not made yet, with --dry-run or after an interruption; unchanged: the library has the value, only in a report; conflict: also changed in the library; kept: a conflict with --theirs; refused: a spreadsheet seems to have changed it; skipped: a row without uid and path',
        ),
      reason: optionalText,
    }),
  ),
  stats: z.array(
    z.strictObject({
      section: z.enum(['total', 'folder', 'type', 'status', 'month', 'tag', ...assetSections]),
      value: optionalText.describe(
        'the folder, type, status, month (YYYY-MM) or tag, empty for assets without tags; null for assets that do not show it',
      ),
      uid: uid.nullable().describe('of an asset'),
      name: optionalText.describe('of an asset'),
      duplicate_group: optionalInteger.describe('number of a group of likely duplicates, within its section'),
      asset_count: integer,
      duration_seconds: z.number().nullable().describe('null if the service shows none'),
      size_bytes: optionalInteger.describe('null if the service shows none'),
    }),
  ),
  history: z.array(
    z.strictObject({
      change_id: text,
      command: text,
      summary: text,
      item_name: optionalText.describe('name of the only item'),
      base_url: uri,
      workspace_uid: optionalText,
      profile: optionalText,
      state: z.enum(['running', 'interrupted', 'finished']),
      item_count: integer,
      done_count: integer,
      unknown_count: integer.describe('items that may have been written'),
      failed_count: integer,
      conflict_count: integer,
      request_count: integer.describe('requests that the change is expected to take, without retries'),
      started_at: dateTime,
      undo_of: optionalText.describe('change that this one undoes'),
      undone_by: optionalText.describe('change that has undone this one'),
    }),
  ),
  'history-items': z.array(
    z.strictObject({
      uid,
      kind: z.enum(['asset', 'folder']),
      name: optionalText,
      before: z.record(text, z.unknown()).nullable().describe('null if it was not read'),
      after: z.record(text, z.unknown()).nullable().describe('null if it was deleted'),
      add_tags: z.array(text).describe('tags to add'),
      remove_tags: z.array(text).describe('tags to remove'),
      outcome: z
        .enum(['pending', 'unknown', 'done', 'failed', 'conflict'])
        .describe('unknown if it may have been written'),
      reason: optionalText,
      local_path: optionalText.describe('file that a deleted asset was uploaded from'),
    }),
  ),
  downloads: z.array(
    z.strictObject({
      asset_uid: uid,
      path: optionalText,
      size_bytes: optionalInteger,
      verified: z.boolean().nullable(),
      outcome: z
        .enum(['downloaded', 'skipped', 'failed', 'not_in_library'])
        .describe('not_in_library: downloaded before, and kept although the folder or glob no longer has its asset'),
      error: errorOrNull,
    }),
  ),
  follow: z.strictObject({
    event: z.enum(['new', 'ready', 'failed']),
    seen_at: dateTime,
    cursor: text.describe('for --since, to continue after this line'),
    asset: z.unknown().describe('as the service sent it'),
  }),
  'contact-sheet': z.strictObject({
    path: text,
    asset_count: integer,
    missing_thumbnail_count: integer,
    size_bytes: integer,
  }),
  'embed-domains': z.array(
    z.strictObject({ domain: text, outcome: z.enum(['added', 'removed', 'failed']), error: errorOrNull }),
  ),
  probe: z.strictObject({
    asset_uid: uid,
    kind: z.enum(['hls', 'file', 'image', 'document', 'embed']),
    playable: z.boolean(),
    steps: z.array(probeStep),
  }),
  'playback-url': playbackUrl,
  'playback-urls': z.array(playbackUrl),
  'dry-run': z.array(
    z.strictObject({
      method: text,
      url: uri,
      body: z.unknown(),
      name: optionalText.optional().describe('of what is deleted, only of rm; null if it cannot be read'),
      folder: optionalText
        .optional()
        .describe('path of the folder that it is in; null if the service does not show it'),
      size_bytes: optionalInteger.optional(),
      created_at: optionalText.optional(),
    }),
  ),
  'upload-dry-run': z.array(
    z.strictObject({
      path: text,
      moved_from: optionalText.describe('path that a renamed file had when it was uploaded'),
      outcome: z.enum(plannedNames).describe(describeOutcomes(plannedOutcomes)),
      asset_uid: optionalText,
      size_bytes: optionalInteger,
      remaining_bytes: optionalInteger.describe('bytes that the run would send; null if unknown'),
      folder_uid: optionalText,
      workspace_uid: text,
      content_type: optionalText,
      changes: z
        .strictObject({ name: text, description: text, folder: text, added_tags: z.array(text) })
        .partial()
        .nullable()
        .describe('what the asset would get'),
      request: z
        .strictObject({ method: text, url: uri })
        .nullable()
        .describe('the first one; files whose directory was renamed share that of its folder'),
      duplicate_of: optionalText,
      left_by: optionalText.describe('programs that leave such a file, if outcome is left_out'),
      error: errorOrNull.describe('why the run would refuse the file, or what the asset would not get'),
    }),
  ),
  'finished-upload': z.array(
    z.strictObject({
      base_url: uri,
      workspace_uid: uid,
      folder_uid: optionalText,
      path: text,
      size_bytes: integer,
      source_version: text.describe('modification time in nanoseconds; for a file on a web server, its ETag'),
      blake3: blake3.nullable().describe('null if only name and size were compared with the asset'),
      verified: z.boolean().nullable(),
      asset_uid: uid,
      session_uid: text,
      asset_name: text,
      asset_state: z.enum(['unchecked', 'ready', 'failed']),
      reason: optionalText,
      finished_at: dateTime,
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
      crashes: integer.describe('number of workers that crashed during the upload'),
      asset_uid: optionalText,
      session_uid: optionalText,
      asset_name: optionalText,
      bytes_sent: optionalInteger.describe('bytes sent by the worker that finished the upload'),
      resumed_from_bytes: optionalInteger,
      request_count: optionalInteger,
      elapsed_ms: optionalInteger,
      blake3: blake3.nullable(),
      verified: z.boolean().nullable(),
      base_url: optionalText,
      queued_at: dateTime,
      started_at: optionalText,
      finished_at: optionalText,
      error: errorOrNull.describe('why the upload failed or is waiting'),
    }),
  ),
  check: z.array(
    z.strictObject({
      path: text,
      outcome: z.enum(checkOutcomeNames).describe(describeOutcomes(checkOutcomes)),
      asset_uid: optionalText,
      evidence: z
        .enum(evidenceNames)
        .nullable()
        .describe(`what shows it: ${describeOutcomes(evidenceKinds)}`),
      found_at: optionalText.describe('when that was found'),
    }),
  ),
} satisfies Record<string, z.ZodType>;

type OutputOf<Name extends keyof typeof schemas> = z.infer<(typeof schemas)[Name]>;

export type OutputRecord<Name extends keyof typeof schemas> =
  OutputOf<Name> extends readonly (infer Item)[] ? Item : OutputOf<Name>;

/** Generates docs/schemas.json: JSON Schemas (2020-12) by name. */
export const schemasPage = () =>
  `${JSON.stringify(Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, z.toJSONSchema(schema)])))}\n`;
