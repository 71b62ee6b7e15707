const nullable = (type: string) => ({ type: [type, 'null'] });
const uid = { type: 'string', format: 'uuid' };

/** Schema for an error, which is printed to stderr with --json and attached to each failed item. */
const errorRecord = {
  type: 'object',
  required: ['code', 'message', 'cause', 'hint', 'status', 'exit_code', 'retryable', 'retry_after', 'details'],
  additionalProperties: false,
  properties: {
    code: { type: 'string', pattern: '^[a-z_0-9]+$', description: 'stable, for scripts' },
    message: { type: 'string' },
    cause: nullable('string'),
    hint: { ...nullable('string'), description: 'what to do next' },
    status: { ...nullable('integer'), description: 'HTTP status, where an answer is the cause' },
    exit_code: { type: 'integer', minimum: 1, maximum: 143 },
    retryable: { type: 'boolean' },
    retry_after: { ...nullable('integer'), description: 'seconds' },
    details: {},
  },
} as const;

const errorOrNull = { anyOf: [errorRecord, { type: 'null' }] };

/** Builds the schema for an object that requires every property and allows no additional properties. */
const closedObject = (properties: Record<string, unknown>) => ({
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
});

const arrayOf = (items: unknown) => ({ type: 'array', items });

const uploadRecord = closedObject({
  path: { type: 'string' },
  outcome: {
    enum: ['uploaded', 'there', 'same', 'elsewhere', 'queued', 'left', 'failed'],
    description:
      'there, same (content under another name in the same folder), elsewhere (being uploaded by another run) and queued (for a worker) sent nothing',
  },
  queue_id: { ...nullable('string'), description: 'of the queue that it is in, or came through' },
  asset_uid: nullable('string'),
  session_uid: nullable('string'),
  name: { ...nullable('string'), description: 'of the asset' },
  size_bytes: nullable('integer'),
  bytes_sent: { ...nullable('integer'), description: 'in this run' },
  resumed_from: { ...nullable('integer'), description: 'offset in bytes; null for a new upload' },
  requests: nullable('integer'),
  duration_ms: nullable('integer'),
  blake3: { ...nullable('string'), pattern: '^[0-9a-f]{64}$' },
  verified: { ...nullable('boolean'), description: 'null where the service named no checksum' },
  status: { ...nullable('string'), description: 'of the asset, with --wait' },
  error: errorOrNull,
});

const written = closedObject({
  uid,
  name: nullable('string'),
  done: { type: 'boolean' },
  error: errorOrNull,
});

const link = closedObject({
  link: { enum: ['master playlist', 'media playlist', 'init segment', 'first segment', 'file'] },
  url: { type: 'string' },
  ok: { type: 'boolean' },
  status: nullable('integer'),
  content_type: nullable('string'),
  bytes: nullable('integer'),
  problem: nullable('string'),
});

/** Builds the schema for an object whose empty properties are omitted, as in `commands --json`. */
const sparseObject = (required: readonly string[], properties: Record<string, unknown>) => ({
  type: 'object',
  ...{ required, additionalProperties: false, properties },
});

const texts = arrayOf({ type: 'string' });

const command = sparseObject(['path', 'summary', 'description'], {
  path: { type: 'string' },
  aliases: texts,
  short: { ...texts, description: 'words that stand for it' },
  summary: { type: 'string' },
  description: { type: 'string' },
  arguments: arrayOf(
    sparseObject(['term'], {
      term: { type: 'string' },
      description: { type: 'string' },
      choices: texts,
      values: { type: 'string' },
      isVariadic: { const: true },
    }),
  ),
  options: {
    ...arrayOf(
      sparseObject(['flags', 'description'], {
        flags: { type: 'string' },
        short: { type: 'string' },
        long: { type: 'string' },
        takesValue: { const: true },
        choices: texts,
        values: { type: 'string' },
        description: { type: 'string' },
        defaultValue: { type: 'string' },
      }),
    ),
    description: 'its own; those of every command are mediactl’s',
  },
  examples: texts,
  children: arrayOf({ $ref: '#/$defs/command' }),
});

/** Schema for a number of files and their total size in bytes. */
const count = closedObject({ files: { type: 'integer' }, bytes: { type: 'integer' } });

/** JSON Schemas (2020-12) for mediactl's own output. The service's records are passed through and have none. */
export const schemas: Record<string, { summary: string; schema: object }> = {
  upload: {
    summary: 'upload, uploads resume, uploads watch, worker',
    schema: arrayOf(uploadRecord),
  },
  error: {
    summary: 'the line on stderr with --json',
    schema: closedObject({ error: errorRecord }),
  },
  commands: {
    summary: 'commands --json',
    schema: { $ref: '#/$defs/command', $defs: { command } },
  },
  written: { summary: 'assets rm; assets update of several', schema: arrayOf(written) },
  downloads: {
    summary: 'assets download of many',
    schema: arrayOf(
      closedObject({
        asset_uid: uid,
        path: nullable('string'),
        size_bytes: nullable('integer'),
        outcome: { enum: ['downloaded', 'there', 'failed'] },
        error: errorOrNull,
      }),
    ),
  },
  sheet: {
    summary: 'assets ls --html',
    schema: closedObject({
      path: { type: 'string' },
      assets: { type: 'integer' },
      missing_thumbnails: { type: 'integer' },
      size_bytes: { type: 'integer' },
    }),
  },
  domains: {
    summary: 'embed domains add, rm, sync',
    schema: arrayOf(
      closedObject({
        domain: { type: 'string' },
        change: { enum: ['added', 'removed', null] },
        error: errorOrNull,
      }),
    ),
  },
  check: {
    summary: 'play --check',
    schema: closedObject({
      asset_uid: uid,
      kind: { enum: ['hls', 'file', 'image', 'document', 'embed'] },
      plays: { type: 'boolean' },
      links: arrayOf(link),
    }),
  },
  plan: {
    summary: 'what --dry-run prints, but for upload',
    schema: arrayOf(
      closedObject({
        method: { type: 'string' },
        url: { type: 'string', format: 'uri' },
        body: {},
      }),
    ),
  },
  'upload-plan': {
    summary: 'upload --dry-run',
    schema: arrayOf(
      closedObject({
        path: { type: 'string' },
        outcome: { enum: ['new', 'changed', 'there', 'same', 'gone'] },
        asset_uid: nullable('string'),
        size_bytes: nullable('integer'),
        folder: nullable('string'),
        workspace: { type: 'string' },
        content_type: nullable('string'),
        request: nullable('string'),
      }),
    ),
  },
  'plan-summary': {
    summary: 'upload --plan',
    schema: closedObject({
      there: count,
      changed: count,
      same: count,
      new: count,
      requests: { type: 'integer' },
      bytes: { type: 'integer' },
      hours: nullable('number'),
      limit: nullable('number'),
      gone: { type: 'integer' },
      outlive_sessions: { type: 'integer' },
    }),
  },
  'finished-upload': {
    summary: 'uploads ls --done, and what uploads import takes',
    schema: arrayOf(
      closedObject({
        service: { type: 'string', format: 'uri' },
        workspace: uid,
        folder: nullable('string'),
        path: { type: 'string' },
        size_bytes: { type: 'integer' },
        mtime_ns: { type: 'string', description: 'of a web server’s file, its ETag' },
        blake3: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        verified: nullable('boolean'),
        asset_uid: uid,
        session_uid: { type: 'string' },
        name: { type: 'string' },
        state: { enum: ['pending', 'ready', 'failed'] },
        reason: nullable('string'),
        at: { type: 'string', format: 'date-time' },
      }),
    ),
  },
  'queued-upload': {
    summary: 'uploads ls --queue, uploads retry, uploads forget --queue',
    schema: arrayOf(
      closedObject({
        id: { type: 'string' },
        path: {
          type: 'string',
          description: 'as workers know it; of an address, without its query',
        },
        state: { enum: ['waiting', 'uploading', 'retrying', 'failed', 'uploaded'] },
        size_bytes: nullable('integer'),
        offset_bytes: { ...nullable('integer'), description: 'as far as its worker has told' },
        worker: nullable('string'),
        attempts: { type: 'integer', description: 'how often a worker has begun it' },
        stalls: { type: 'integer', description: 'how many workers died at it' },
        asset_uid: nullable('string'),
        session_uid: nullable('string'),
        name: nullable('string'),
        bytes_sent: { ...nullable('integer'), description: 'by the worker that finished it' },
        resumed_from: nullable('integer'),
        requests: nullable('integer'),
        duration_ms: nullable('integer'),
        blake3: { ...nullable('string'), pattern: '^[0-9a-f]{64}$' },
        verified: nullable('boolean'),
        removed: {
          ...arrayOf({ type: 'string' }),
          description: 'assets of lost answers, deleted by their mark',
        },
        base_url: nullable('string'),
        queued_at: { type: 'string', format: 'date-time' },
        begun_at: nullable('string'),
        done_at: nullable('string'),
        error: { ...errorOrNull, description: 'why it failed, or why it waits' },
      }),
    ),
  },
  differences: {
    summary: 'check',
    schema: arrayOf(
      closedObject({
        path: { type: 'string' },
        difference: { enum: ['missing', 'moved', 'changed', 'failed', 'not_compared', 'extra'] },
        asset_uid: nullable('string'),
      }),
    ),
  },
};

/** Returns a schema as a standalone document. */
export const schemaOf = (name: string) => {
  const { summary, schema } = schemas[name] as (typeof schemas)[string];
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `mediactl ${name}: ${summary}`,
    ...schema,
  };
};
