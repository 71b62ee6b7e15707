import { parseArgs } from 'node:util';
import { parseFault } from './faults/parse.ts';
import { ArgumentError, defaults, type SandboxOptions, type Theme, themes } from './options.ts';

/** Parsed command line of the sandbox process. Sizes are in bytes, lifetimes in seconds. */
export type Arguments = Omit<SandboxOptions, 'pid' | 'node' | 'mediaWorker' | 'playerScript' | 'killGroup' | 'log'> & {
  logPath?: string;
};

/** @throws ArgumentError with a one-line message; for an unknown option, the error of Node's `parseArgs` */
export function parseArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'data-dir': { type: 'string' },
      port: { type: 'string' },
      log: { type: 'string' },
      fault: { type: 'string', multiple: true },
      strict: { type: 'boolean' },
      seed: { type: 'string' },
      'rate-limit': { type: 'string' },
      'session-lifetime': { type: 'string' },
      'token-lifetime': { type: 'string' },
      credits: { type: 'string' },
      'max-upload-size': { type: 'string' },
      storage: { type: 'string' },
      'auto-play': { type: 'boolean', default: defaults.player.autoPlay },
      theme: { type: 'string', default: defaults.player.theme },
    },
  });
  const number = (name: Exclude<keyof typeof values, 'fault' | 'strict' | 'auto-play'>) => {
    const text = values[name];
    if (text !== undefined && !/^\d+(\.\d+)?$/.test(text))
      throw new ArgumentError(`--${name} must be a number, not '${text}'`);
    return text === undefined ? undefined : Number(text);
  };
  if (!values['data-dir']) throw new ArgumentError('--data-dir is required');
  values.fault?.forEach(parseFault);
  const rateLimit = values['rate-limit'];
  return {
    dataDir: values['data-dir'],
    logPath: values.log,
    port: parsePort(number('port') ?? defaults.port),
    faults: values.fault,
    strict: values.strict,
    seed: number('seed'),
    rateLimit: rateLimit === undefined ? undefined : parseRateLimit(rateLimit),
    sessionSeconds: number('session-lifetime'),
    playbackSeconds: number('token-lifetime'),
    credits: number('credits'),
    maxUploadBytes: number('max-upload-size'),
    storageBytes: number('storage'),
    player: { autoPlay: values['auto-play'], theme: parseTheme(values.theme) },
  };
}

function parsePort(port: number): number {
  if (Number.isInteger(port) && port <= 65_535) return port;
  throw new ArgumentError(`--port must be a number up to 65535, not ${port}`);
}

function parseTheme(text: string): Theme {
  const theme = themes.find((each) => each === text);
  if (!theme) throw new ArgumentError(`--theme must be one of ${themes.join(', ')}`);
  return theme;
}

function parseRateLimit(text: string): { limit: number; windowSeconds: number } {
  const [, limit, seconds] = /^(\d+)\/(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (!Number(seconds)) throw new ArgumentError(`--rate-limit must be LIMIT/SECONDS, not '${text}'`);
  return { limit: Number(limit), windowSeconds: Number(seconds) };
}
