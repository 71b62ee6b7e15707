import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { parseCount, parseDuration, parseSize } from '../../settings/units.ts';

type OptionParser = (flag: string, text: string) => number | string;

const serviceOption = (flags: string, help: string, parse: OptionParser) => {
  const option = new Option(flags, help);
  return option.argParser((text) => parse(option.long as string, text));
};

const seconds: OptionParser = (flag, text) => parseDuration(flag, text) / 1000;

/** Converts `5/10s` to `5/10`, that is, requests per number of seconds. */
const rateLimit: OptionParser = (flag, text) => {
  const [count = '', window = '', ...rest] = text.split('/');
  const windowSeconds = window === '' || rest.length > 0 ? 0 : seconds(flag, window);
  if (windowSeconds === 0) throw usageError(`${flag} does not accept '${text}'`, 'such as 1000/1h');
  return `${parseCount(flag, count)}/${windowSeconds}`;
};

/** Options that configure the service itself. Faults are not checked here, because the service validates them. */
const serviceOptions = () => [
  serviceOption('--seed <number>', 'begin with so many made-up assets', (flag, text) => parseCount(flag, text, 1)),
  new Option('--strict', 'answer only with what the specification shows'),
  new Option('--fault <spec...>', 'what is to go wrong: mediactl help faults'),
  serviceOption('--rate-limit <number/duration>', 'requests a key may make (1000/1h)', rateLimit),
  serviceOption('--session-lifetime <duration>', 'until an upload session expires (24h)', seconds),
  serviceOption('--token-lifetime <duration>', 'until tokens and URLs expire (4h)', seconds),
  serviceOption('--credits <number>', 'credits: 1 a MiB, 1 a playback (unlimited)', parseCount),
  serviceOption('--max-upload-size <size>', 'the largest upload (unlimited)', parseSize),
  serviceOption('--storage <size>', 'space for all assets (the disk)', parseSize),
  new Option('--auto-play', 'players begin by themselves'),
  new Option('--theme <theme>', 'how players look (dark)').choices(['light', 'dark']),
];

export function addServiceOptions<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  for (const option of serviceOptions()) command.addOption(option);
  return command;
}

export const serviceArguments = (flags: Readonly<Record<string, unknown>>): string[] =>
  serviceOptions().flatMap((option) => {
    const value = flags[option.attributeName()];
    if (value === undefined) return [];
    return value === true ? [`${option.long}`] : [value].flat().map((each) => `${option.long}=${each}`);
  });
