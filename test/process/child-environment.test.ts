import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { respond, startServer } from '../support/http-server.ts';
import { mediactl } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The user's API key, which no program that mediactl starts may receive. */
const key = 'mk_live_that_no_child_may_see_0123456789';
const password = 'pw_of_a_queue_0123456789';
const uid = '00000000-0000-4000-8000-000000000001';

/** Runs mediactl with programs of these names in PATH. @returns the environment that each received */
async function environmentsReceivedBy(programs: string[], ...runs: string[][]) {
  const home = temporaryFolder();
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const recordOf = (name: string) => join(home, `${name}.environment`);
  for (const name of programs) {
    writeFileSync(join(bin, name), `#!/bin/sh\nenv > '${recordOf(name)}'\necho 'ffmpeg version 99'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const url = await startServer(({ url = '', headers }, response) =>
    url.includes('/playback/')
      ? respond(response, 200, { source_url: { url: `http://${headers.host}/media/f` } })
      : respond(response, 200, { uid, name: 'clip', playback_token: 'token', player_config: {} }),
  );
  for (const args of runs) {
    const { code, stderr } = await mediactl(args, {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      MEDIACTL_CONFIG_DIR: join(home, 'config'),
      MEDIACTL_STATE_DIR: join(home, 'state'),
      MEDIACTL_KEY_STORE: 'file',
      MEDIACTL_API_KEY: key,
      MEDIACTL_QUEUE: `redis://:${password}@127.0.0.1:9`,
      MEDIACTL_BASE_URL: url,
      OTHER: 'is passed on',
    }).finished;
    expect([code, stderr]).toEqual([0, expect.anything()]);
  }
  const readEnvironment = (name: string) => (existsSync(recordOf(name)) ? readFileSync(recordOf(name), 'utf8') : '');
  // mediactl does not wait for the desktop's opener.
  for (const name of programs) await expect.poll(() => readEnvironment(name)).toContain('OTHER=');
  return programs.map(readEnvironment);
}

it.each([
  ['the program that opens the browser', 'xdg-open', [['play', uid, '--web']]],
  [
    'the ffmpeg of a sandbox',
    'ffmpeg',
    [
      ['sandbox', 'start', '--port', '0'],
      ['sandbox', 'stop'],
    ],
  ],
])('%s does not receive the API key or the password of the queue', async (_what, program, runs) => {
  const [environment] = await environmentsReceivedBy([program], ...runs);
  expect(environment).toContain('OTHER=is passed on');
  expect(environment).not.toContain(key);
  expect(environment).not.toContain(password);
});
