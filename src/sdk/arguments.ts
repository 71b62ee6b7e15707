import english from 'zod/v4/locales/en.js';
import * as z from 'zod/v4/mini';
import { usageError } from '../client/errors.ts';
import { isDay } from '../contract/asset-filters.ts';
import { nameKeys } from '../contract/assumptions.ts';
import { describeWrongTag, isSlug } from '../contract/slug.ts';
import { maxChunkBytes } from '../contract/tus.ts';
import { isUid } from '../contract/uid.ts';

/* The arguments of the package, checked when a function is called, since a program may have no compiler. */

const { localeError } = english();

export const text = z.string().check(z.minLength(1));
const texts = z.array(text);
const newTag = text.check(z.refine(isSlug, { error: ({ input }) => describeWrongTag([String(input)]) }));
const presentTag = text.check(z.refine((tag) => !tag.includes(','), 'it must be one tag, without a comma'));
const flag = z.optional(z.boolean());
const day = z.string().check(z.refine(isDay, 'it must be a date in the form YYYY-MM-DD'));
const positiveInteger = z.int().check(z.minimum(1));
const callback = z.optional(
  z.custom<(...args: never[]) => void>((value) => typeof value === 'function', 'it must be a function'),
);

export const uid = z.string().check(z.refine(isUid, 'it must be a uid'));
export const uids = z.array(z.string());
export const validUids = z.array(uid).check(z.minLength(1));
export const domains = texts;
export const isRestricted = z.boolean();

const call = {
  signal: z.optional(z.instanceof(AbortSignal)),
  onNotice: callback,
};

/** Options of a call that has no others. */
export const callOptions = z.strictObject(call);

const ofProfile = {
  workspace: z.optional(text),
  signal: call.signal,
  maxWaitMs: z.optional(z.number().check(z.minimum(0))),
  requestTimeoutMs: z.optional(z.number().check(z.minimum(1), z.maximum(2 ** 31 - 1))),
  onNotice: callback,
  userAgent: z.optional(z.string().check(z.regex(/^[\x20-\x7e]*$/, 'it must contain only printable ASCII characters'))),
};

/** Options of a client whose account is that of a profile. */
export const profileOptions = z.strictObject(ofProfile);

export const clientOptions = z.strictObject({
  ...ofProfile,
  baseUrl: z.union([z.string(), z.instanceof(URL)]),
  apiKey: z.string(),
  primaryWorkspace: z.optional(uid),
  stateDir: z.optional(text),
  history: flag,
  proxy: z.optional(
    z.strictObject({
      httpProxy: z.optional(z.string()),
      httpsProxy: z.optional(z.string()),
      noProxy: z.optional(z.string()),
    }),
  ),
  fieldNames: z.optional(z.partialRecord(z.enum(nameKeys as [string, ...string[]]), text)),
});

const followed = {
  search: z.optional(text),
  type: z.optional(text),
  tag: z.optional(presentTag),
  folder: z.optional(text),
};

export const followQuery = z.strictObject(followed);

export const assetQuery = z.strictObject({
  ...followed,
  status: z.optional(text),
  createdAfter: z.optional(day),
  createdBefore: z.optional(day),
  ordering: z.optional(z.enum(['created_at', '-created_at', 'name', '-name', 'duration', '-duration'])),
  limit: z.optional(positiveInteger),
});

export const assetChange = z.strictObject({
  name: z.optional(text),
  description: z.optional(z.string()),
  tags: z.optional(z.array(newTag)),
  addTags: z.optional(z.array(newTag)),
  removeTags: z.optional(z.array(presentTag)),
  folder: z.optional(text),
});

/** `planned` has records as the service sent them. */
export const updateAllOptions = z.strictObject({ ...call, planned: z.optional(z.array(z.looseObject({ uid }))) });

export const waitOptions = z.strictObject({ ...call, timeoutMs: z.optional(z.number().check(z.minimum(0))) });

export const followOptions = z.strictObject({ ...call, since: z.optional(text) });

export const removeOptions = z.strictObject({ ...call, recursive: flag });

const eachDownload = { ...call, overwrite: flag, acceptRendition: flag, onProgress: callback };

export const downloadOptions = z.strictObject(eachDownload);

export const folderDownloadOptions = z.strictObject({
  ...eachDownload,
  flatten: flag,
  transfers: z.optional(positiveInteger),
});

const eachUpload = {
  ...call,
  folder: z.optional(text),
  description: z.optional(z.string()),
  contentType: z.optional(text),
  tags: z.optional(z.array(newTag)),
  existing: z.optional(z.enum(['content', 'file', 'anywhere', 'upload'])),
  roots: z.optional(texts),
  requireChecksum: flag,
  limitRate: z.optional(z.number().check(z.minimum(1))),
  chunkBytes: z.optional(positiveInteger.check(z.maximum(maxChunkBytes))),
  onProgress: callback,
};

export const uploadOptions = z.strictObject({ ...eachUpload, name: z.optional(text) });

const choice = { include: z.optional(texts), exclude: z.optional(texts), allFiles: flag };

export const checkOptions = z.strictObject({
  ...call,
  ...choice,
  folder: z.optional(text),
  download: flag,
  onProgress: callback,
});

export const directoryOptions = z.strictObject({
  ...eachUpload,
  ...choice,
  flatten: flag,
  transfers: z.optional(positiveInteger),
});

export const requestOptions = z.strictObject({
  ...call,
  json: z.optional(z.record(z.string(), z.unknown())),
  query: z.optional(z.record(z.string(), z.union([z.string(), z.number(), z.undefined()]))),
});

export const method = z.string().check(z.regex(/^[a-z]+$/i, 'it must be an HTTP method'));

export type ArgumentSchema = z.ZodMiniType;

/** @throws CodedError `usage` that names the first field that is wrong */
export function assertArgument(name: string, schema: ArgumentSchema, value: unknown): void {
  const issue = schema.safeParse(value, { error: localeError }).error?.issues[0];
  if (!issue) return;
  const field = [name, ...issue.path].map(String).join('.');
  throw usageError(`${field}: ${issue.message}`);
}
