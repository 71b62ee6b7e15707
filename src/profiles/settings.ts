import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exitCodes, MediactlError } from '../errors.ts';
import type { Format } from './format.ts';
import { parseDuration } from './units.ts';

/** Options that every command takes, as Commander gives them. */
export type GlobalOptions = {
  profile?: string;
  workspace?: string;
  baseUrl?: string;
  json?: boolean;
  jsonl?: boolean;
  quiet?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  input?: boolean;
  color?: string;
  requestTimeout?: string;
  maxWait?: string;
  debug?: boolean | string;
};

export type Environment = Record<string, string | undefined>;

/** What `.mediactl.json` may name. Never a base URL or a key: a cloned repository must not steal keys. */
type ProjectFile = {
  path: string;
  profile?: string;
  workspace?: string;
  folder?: string;
  output?: string;
};

const projectKeys = new Set(['profile', 'workspace', 'folder', 'output']);

/** Flag > MEDIACTL_* variable > .mediactl.json > (profile) > default. */
export type Settings = {
  profile?: string | undefined;
  workspace?: string | undefined;
  /** Whether --workspace was given with this very command. */
  workspaceAsked: boolean;
  /** Where uploads go; --folder of upload comes first. */
  folder?: string | undefined;
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  output: Format;
  yes: boolean;
  dryRun: boolean;
  input: boolean;
  color: 'auto' | 'always' | 'never';
  /** Milliseconds of silence; unset, 30 s for a call and 120 s for a chunk. */
  requestTimeoutMs: number | undefined;
  maxWaitMs: number;
  debug: false | 'on' | 'http';
};

export function resolveSettings(
  options: GlobalOptions,
  environment: Environment,
  cwd: string,
): Settings {
  const project = findProjectFile(cwd);
  const variable = (name: string) => environment[`MEDIACTL_${name}`] || undefined;
  const requestTimeout = options.requestTimeout ?? variable('REQUEST_TIMEOUT');
  const apiKey = variable('API_KEY');
  const baseUrl = options.baseUrl ?? variable('BASE_URL');
  // Key and base URL are a whole account: what a repository calls its profile need not be here.
  const projectProfile = apiKey && baseUrl ? undefined : project?.profile;
  return {
    profile: options.profile ?? variable('PROFILE') ?? projectProfile,
    folder: variable('FOLDER') ?? project?.folder,
    workspaceAsked: options.workspace !== undefined,
    workspace: options.workspace ?? variable('WORKSPACE') ?? project?.workspace,
    baseUrl,
    apiKey,
    output: outputFormat(options, variable('OUTPUT') ?? project?.output),
    yes: options.yes ?? isSet(variable('YES')),
    dryRun: options.dryRun ?? false,
    input: options.input !== false && !isSet(variable('NO_INPUT')),
    color: oneOf(
      '--color',
      ['auto', 'always', 'never'],
      options.color ?? variable('COLOR'),
      'auto',
    ),
    requestTimeoutMs: requestTimeout
      ? parseDuration('--request-timeout', requestTimeout)
      : undefined,
    maxWaitMs: parseDuration('--max-wait', options.maxWait ?? variable('MAX_WAIT') ?? '1h'),
    debug: debugLevel(options.debug ?? variable('DEBUG')),
  };
}

function outputFormat(options: GlobalOptions, fallback: string | undefined): Format {
  const asked = (['json', 'jsonl', 'quiet'] as const).filter((format) => options[format]);
  if (asked.length > 1)
    throw new MediactlError(`--${asked[0]} and --${asked[1]} exclude each other`, {
      code: 'usage',
      exitCode: exitCodes.usage,
      hint: 'give one of them',
    });
  return (
    asked[0] ?? oneOf('MEDIACTL_OUTPUT', ['human', 'json', 'jsonl', 'quiet'], fallback, 'human')
  );
}

function debugLevel(value: boolean | string | undefined): Settings['debug'] {
  if (value === undefined || value === false || value === '0') return false;
  return value === 'http' ? 'http' : 'on';
}

const isSet = (value: string | undefined) => value !== undefined && value !== '0';

/** A value from a fixed set, or a usage error that lists the set. */
function oneOf<T extends string>(
  name: string,
  allowed: readonly T[],
  value: string | undefined,
  fallback: T,
): T {
  if (value === undefined) return fallback;
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new MediactlError(`${name} does not take '${value}'`, {
    code: 'usage',
    exitCode: exitCodes.usage,
    hint: `one of ${allowed.join(', ')}`,
  });
}

/**
 * `.mediactl.json` of this folder or the nearest one above it. Read without a promise, as the
 * profiles are: node:fs/promises alone costs every command 2 ms.
 */
function findProjectFile(cwd: string): ProjectFile | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, '.mediactl.json');
    const text = readIfThere(path);
    if (text !== undefined) return parseProjectFile(path, text);
    if (dirname(folder) === folder) return undefined;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
}

function parseProjectFile(path: string, text: string): ProjectFile {
  const unusable = (reason: string) =>
    new MediactlError(`cannot use ${path}`, {
      code: 'project_file',
      exitCode: exitCodes.usage,
      reason,
      hint: `it is a JSON object with any of ${[...projectKeys].join(', ')}`,
    });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw unusable((error as Error).message);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw unusable('it is not an object');
  for (const [key, value] of Object.entries(parsed)) {
    if (!projectKeys.has(key)) throw unusable(`it may not set ${key}`);
    if (typeof value !== 'string') throw unusable(`${key} is not a string`);
  }
  return { ...parsed, path };
}
