import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { parseCount, parseDuration, parseSize } from '../../settings/units.ts';

/** Options that configure the sandbox service itself. */
type ServiceOptions = {
  seed?: string;
  strict?: true;
  fault?: string[];
  rateLimit?: string;
  sessionLifetime?: string;
  tokenLifetime?: string;
  credits?: string;
  maxUploadSize?: string;
  storage?: string;
  autoPlay?: true;
  theme?: 'light' | 'dark';
};

/** Adds the options that configure the service to a command. */
export const addServiceOptions = <Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) =>
  command
    .option('--seed <number>', 'begin with so many made-up assets')
    .option('--strict', 'answer only with what the specification shows')
    .option('--fault <spec...>', 'what is to go wrong: mediactl help faults')
    .option('--rate-limit <number/duration>', 'requests a key may make (1000/1h)')
    .option('--session-lifetime <duration>', 'until an upload session expires (24h)')
    .option('--token-lifetime <duration>', 'until tokens and URLs expire (4h)')
    .option('--credits <number>', 'credits: 1 a MiB, 1 a playback (unlimited)')
    .option('--max-upload-size <size>', 'the largest upload (unlimited)')
    .option('--storage <size>', 'space for all assets (the disk)')
    .option('--auto-play', 'players begin by themselves')
    .addOption(new Option('--theme <theme>', 'how players look (dark)').choices(['light', 'dark'] as const));

/**
 * Converts the options to arguments for the sandbox program. Faults are not checked here, because the service
 * validates them.
 */
export function serviceArguments(options: ServiceOptions): string[] {
  const { seed, strict, fault = [], rateLimit, sessionLifetime, tokenLifetime } = options;
  const { credits, maxUploadSize, storage } = options;
  const seconds = (name: string, text: string) => parseDuration(name, text) / 1000;
  return [
    ...toArgument('--seed', seed, (name, text) => parseCount(name, text, 1)),
    ...(strict ? ['--strict'] : []),
    ...fault.map((spec) => `--fault=${spec}`),
    ...toArgument('--rate-limit', rateLimit, parseRateLimit),
    ...toArgument('--session-lifetime', sessionLifetime, seconds),
    ...toArgument('--token-lifetime', tokenLifetime, seconds),
    ...toArgument('--credits', credits, parseCount),
    ...toArgument('--max-upload-size', maxUploadSize, parseSize),
    ...toArgument('--storage', storage, parseSize),
    ...(options.autoPlay ? ['--auto-play'] : []),
    ...(options.theme ? [`--theme=${options.theme}`] : []),
  ];
}

const toArgument = (name: string, text: string | undefined, read: (name: string, text: string) => number | string) =>
  text === undefined ? [] : [`${name}=${read(name, text)}`];

/** Converts `5/10s` to `5/10`, that is, requests per number of seconds. */
function parseRateLimit(name: string, text: string): string {
  const [count = '', window = '', ...rest] = text.split('/');
  const windowMs = window === '' || rest.length > 0 ? 0 : parseDuration(name, window);
  if (windowMs === 0) throw usageError(`${name} does not accept '${text}'`, 'such as 1000/1h');
  return `${parseCount(name, count)}/${windowMs / 1000}`;
}
