import { expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/error-hints.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { assetUid, createLibrary, folderUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { isFullRun } from '../support/full-run.ts';
import { Random } from '../support/random.ts';
import { playbackInfos, prepareCommand, readCommands } from '../support/read-commands.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';

const nestedLists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
/** Replacement values; `RAW…` is inserted into the JSON without quotes. */
const oddValues: unknown[] = [
  ...[null, true, false, 0, -1, 1.5, '', 'x', '\u001b[2J', [], {}, [null], [false], [{}], { a: {} }],
  ...['RAW1e999', 'RAW12345678901234567891', `RAW${nestedLists(3000)}`, `RAW"${'x'.repeat(100_000)}"`],
  ...['..', '../../admin', '-rf', '@last', 'javascript:alert(1)', assetUid.toUpperCase(), folderUid],
];

/** Replaces or removes one random value and passes a description to the callback. */
function mutate(value: unknown, random: Random, onMutation: (what: string) => void, path = ''): unknown {
  const isBranch = value !== null && typeof value === 'object' && Object.keys(value).length > 0;
  if (!isBranch || random.chance(0.15)) {
    const replacement = random.pick(oddValues);
    onMutation(`${path || 'all'} = ${JSON.stringify(replacement).slice(0, 40)}`);
    return replacement;
  }
  const entries = Object.entries(value as object);
  const at = random.below(entries.length);
  const name = entries[at]?.[0] as string;
  if (random.chance(0.15)) {
    onMutation(`no ${path}.${name}`);
    entries.splice(at, 1);
  } else entries[at] = [name, mutate(entries[at]?.[1], random, onMutation, `${path}.${name}`)];
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}

const toJson = (body: unknown) =>
  JSON.stringify(body).replace(/"RAW((?:[^"\\]|\\.)*)"/g, (_whole, raw) => JSON.parse(`"${raw}"`));

const runsPerCommand = isFullRun ? 25 : 2;
const table = readCommands.flatMap((args, command) =>
  Array.from({ length: runsPerCommand }, (_, n) => [args.join(' '), command * 100 + n] as const),
);

it.each(table)(
  '%s survives a response with wrong types: it exits with a documented code (seed %i)',
  async (commandLine, seed) => {
    const random = new Random(seed);
    const mutations: string[] = [];
    let untilMutation = random.below(4);
    const respond = createLibrary({ playback: random.pick(playbackInfos) });
    const respondWithMutations: Responder = (request) => {
      const answer = respond(request);
      if (!answer || typeof answer.body !== 'object') return answer;
      let body: unknown = answer.body;
      if (untilMutation-- <= 0 && random.chance(0.7))
        body = mutate(body, random, (what) => mutations.push(`${request.method} ${request.path}: ${what}`));
      const text = toJson(body);
      return { ...answer, body: text, headers: { ...answer.headers, 'content-type': 'application/json' } };
    };
    const { url: baseUrl } = await startRecordingServer(respondWithMutations);
    const cli = new Cli({
      MEDIACTL_API_KEY: testKey,
      MEDIACTL_BASE_URL: baseUrl,
      NO_COLOR: '1',
      MEDIACTL_WORKSPACE: workspaceUid,
    });
    const { code, stdout, stderr } = await cli.run(prepareCommand(commandLine, cli.home), {
      clock: acceleratedClockInProcess(),
      stdin: '',
    });
    const message = [commandLine, ...mutations, code, stderr.slice(0, 1000)].join('\n');
    expect(Object.values(exitCodes), message).toContain(code);
    expect(stderr, message).not.toMatch(
      /unclassified|report it|TypeError|RangeError|is not a function|undefined|NaN|\[object/,
    );
    expect(stdout, message).not.toMatch(/\[object|undefined|NaN/);
    expect(stderr, message).not.toContain('\u001b');
    if (code !== 0) expect(stderr, message).not.toBe('');
  },
);
