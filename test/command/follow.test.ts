import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { acceleratedClock } from '../support/clock.ts';
import { findSchemaErrors } from '../support/output-schema.ts';
import { isStrict } from '../support/sandbox.ts';

const { setup } = setUpCli();

/** Follows until a text is in the output. The clock makes a minute take 0.2 s. */
async function follow(args: readonly string[], until: (stdout: string) => boolean) {
  const stop = new AbortController();
  const { code, stdout } = await setup.cli.run(['ls', '--follow', '--jsonl', ...args], {
    clock: acceleratedClock({ speed: 300 }),
    signal: stop.signal,
    onStdout: (text) => until(text) && stop.abort(new CodedError('interrupted', { code: 'interrupted' })),
  });
  return {
    code,
    events: stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  };
}

async function upload(name: string, folder = '/'): Promise<string> {
  const path = join(setup.cli.home, name);
  writeFileSync(path, name);
  return (await setup.cli.json(['upload', path, folder]))[0].asset_uid;
}

it('ls --follow --jsonl prints a line when an asset is new and when it is ready, and --since continues after one', async () => {
  const since = new Date(Date.now() - 1000).toISOString();
  const uid = await upload('followed.txt');
  const { code, events } = await follow(['--since', since], (stdout) => stdout.includes('"ready"'));
  expect(code).toBe(130);
  expect(events.map(({ event, asset }) => [event, asset.uid, asset.name])).toEqual([
    ['new', uid, 'followed.txt'],
    ['ready', uid, 'followed.txt'],
  ]);
  expect(await findSchemaErrors(setup.cli, 'assets ls --follow', events[0])).toEqual([]);
  const next = await upload('next.txt');
  const { events: after } = await follow(['--since', events[1].cursor], (stdout) => stdout.includes('"ready"'));
  expect(after.map(({ event, asset }) => [event, asset.uid])).toEqual([
    ['new', next],
    ['ready', next],
  ]);
});

it.skipIf(isStrict)('ls FOLDER --follow prints what is uploaded to that folder only', async () => {
  await setup.cli.json(['folders', 'create', '/Followed']);
  const since = new Date(Date.now() - 1000).toISOString();
  await upload('elsewhere.txt');
  const uid = await upload('inside.txt', '/Followed');
  const { events } = await follow(['/Followed', '--since', since, '--jq', '[.event, .asset.uid]'], (stdout) =>
    stdout.includes('"ready"'),
  );
  expect(events).toEqual([
    ['new', uid],
    ['ready', uid],
  ]);
});

it.each([
  [['--follow'], 'add --jsonl'],
  [['--follow', '--json'], 'add --jsonl'],
  [['--follow', '--jsonl', '--status', 'ready'], '--status'],
  [['--follow', '--jsonl', '--created-after', '7d'], '--created-after'],
  [['--follow', '--jsonl', '--all'], '--all'],
  [['--follow', '--jsonl', '/Inbox/*.mov'], 'glob'],
  [['--follow', '--jsonl', '--since', 'yesterday'], 'cursor'],
  [['--since', '2026-01-31'], '--follow'],
])('ls %j is a usage error', async (args, part) => {
  const { code, stderr, stdout } = await setup.cli.run(['ls', ...args]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(part);
});
