import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../src/contract/clock.ts';
import type { CliOptions } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { errorInTable, errorOf, recordedError } from '../support/errors.ts';
import { FileServer } from '../support/file-server.ts';
import { writeSome } from '../support/files.ts';
import { respondWith } from '../support/interposer.ts';
import { createLatch } from '../support/latch.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

/* Provokes errors of uploads, and compares code, exit code and next step. */

const world = setUpUploader();

/** Uploads the file with these arguments, which must fail, and returns its error. */
async function failing(args: string[] = [], options: CliOptions = {}) {
  const { record } = await world.upload(args, options);
  return recordedError(record.error);
}

describe('the file', () => {
  const changing = (change: () => void) => {
    world.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2 ? { beforeResponse: () => change() } : undefined;
  };

  it('file_changed', async () => {
    changing(() => appendFileSync(world.path, 'more'));
    expect(await failing()).toEqual({
      code: 'file_changed',
      exit: 13,
      hint: `mediactl upload --force '${world.path}' once it no longer changes, to upload it as a new asset`,
    });
  });

  it('file_missing', async () => {
    changing(() => rmSync(world.path));
    expect(await failing()).toEqual(errorInTable('file_missing'));
  });

  it('unreadable_file for a name that is not UTF-8', async () => {
    const folder = join(world.cli.home, 'latin');
    mkdirSync(folder);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9]), Buffer.from('.bin')]), 'data');
    const { stdout } = await world.run(['upload', '--flatten', folder, '--json']);
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual({
      code: 'unreadable_file',
      exit: 2,
      hint: 'rename it; convmv renames many files at once',
    });
  });

  it('source_forbidden', async () => {
    const files = await FileServer.start(Buffer.alloc(10_000));
    files.fault = () => ({ respond: (response) => response.writeHead(403).end() });
    const upload = () => world.run(['upload', files.url, '--json', '--max-wait', '0s']);
    expect(errorOf(await upload())).toEqual(errorInTable('source_forbidden'));
  });

  it('source_failed', async () => {
    const files = await FileServer.start(Buffer.alloc(10_000));
    files.fault = ({ headers }) =>
      headers.range === 'bytes=0-0' ? undefined : { headers: { 'content-range': 'bytes 7-9/10000' } };
    const { stdout } = await world.run(['upload', files.url, '--json']);
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual({
      code: 'source_failed',
      exit: 10,
      hint: expect.stringMatching(/^run the same command again, or mediactl uploads resume /),
    });
  });

  it('source_busy', async () => {
    const files = await FileServer.start(Buffer.alloc(10_000));
    files.fault = () => ({ respond: (response) => response.writeHead(429, { 'retry-after': '9999' }).end() });
    expect(errorOf(await world.run(['upload', files.url, '--json', '--max-wait', '0s']))).toEqual(
      errorInTable('source_busy'),
    );
  });

  it('unreadable_file', async () => {
    const path = join(world.cli.home, 'loop.mp4');
    symlinkSync(path, path);
    expect(errorOf(await world.run(['upload', path, '--json']))).toEqual(errorInTable('unreadable_file'));
  });

  it('unreadable_file for a directory', async () => {
    // Its path is longer than the system allows, which no permission of this user overcomes.
    const name = 'd'.repeat(250);
    const makeDeep = `for (let n = 0; n < 20; n++) { fs.mkdirSync('${name}'); process.chdir('${name}') }`;
    spawnSync(process.execPath, ['-e', makeDeep], { cwd: world.cli.home });
    onTestFinished(() => void spawnSync('rm', ['-r', join(world.cli.home, name)]));
    const { stdout } = await world.run(['upload', '--flatten', join(world.cli.home, name), '--json']);
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual({
      code: 'unreadable_file',
      exit: 2,
      hint: 'fix its permissions, or skip it with --exclude',
    });
  });
});

describe('stdin', () => {
  const stdinArgs = ['upload', '-', '--name', 'x.bin', '--json'];

  it('stdin_size_differs', async () => {
    const { stdout } = await world.run([...stdinArgs, '--stdin-size', '9'], { stdin: 'four' });
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual(errorInTable('stdin_size_differs'));
  });

  it('output if stdin cannot be spooled', { tags: 'root-mount' }, async () => {
    const environment = { MEDIACTL_STATE_DIR: join(new SmallDisk().path, 'state') };
    expect(errorOf(await world.run(stdinArgs, { stdin: Buffer.alloc(5_000_000), environment }))).toEqual({
      code: 'write_failed',
      exit: 1,
      hint: 'free some disk space, set MEDIACTL_STATE_DIR, or upload a file instead',
    });
  });
});

describe('the session', () => {
  it('upload_in_progress', async () => {
    let other: unknown;
    world.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2
        ? {
            beforeResponse: async () => {
              other = await failing();
            },
          }
        : undefined;
    await world.upload();
    expect(other).toEqual(errorInTable('upload_in_progress'));
  });

  it('session_unknown', async () => {
    world.bytes = writeSome(world.path, 1000);
    world.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, {}) : undefined);
    await world.upload();
    const { assetUid } = world.storedEntry().session;
    world.fault = ({ method, path }) => {
      if (method === 'HEAD') return respondWith(404);
      return path.includes(assetUid) ? respondWith(200, { uid: assetUid, status: 'transcoding' }) : undefined;
    };
    expect(await failing([], { clock: fastClock() })).toEqual({
      code: 'session_unknown',
      exit: 3,
      hint: `mediactl get ${assetUid}, to check it; --yes starts over and keeps that asset`,
    });
  });

  it('session_broken', async () => {
    world.fault = ({ method }) =>
      method === 'PATCH' ? { headers: ({ 'upload-offset': _, ...others }) => others } : undefined;
    expect(await failing()).toEqual(errorInTable('session_broken'));
  });

  it('session_mismatch', async () => {
    world.fault = ({ method }) =>
      method === 'PATCH'
        ? { headers: (headers) => ({ ...headers, 'upload-offset': `${10 * chunkBytes}` }) }
        : undefined;
    expect(await failing()).toEqual(errorInTable('session_mismatch'));
  });

  it('session_expired', async () => {
    await world.interruptAfterTwoChunks();
    world.fault = ({ method }) => (method === 'HEAD' ? respondWith(410) : undefined);
    expect(await failing(['--on-session-expired', 'fail'])).toEqual(errorInTable('session_expired'));
  });

  it('session_unknown on first use', async () => {
    world.fault = ({ method }) => (method === 'HEAD' || method === 'PATCH' ? respondWith(404) : undefined);
    expect(await failing()).toEqual({
      code: 'session_unknown',
      exit: 3,
      hint: 'check the base URL and any proxy; --yes creates a new asset and keeps that one',
    });
  });

  it('checksum_mismatch', async () => {
    world.fault = ({ method }) =>
      method === 'PATCH'
        ? {
            headers: (headers) =>
              headers['x-checksum-blake3'] ? { ...headers, 'x-checksum-blake3': 'f'.repeat(64) } : headers,
          }
        : undefined;
    expect(await failing()).toEqual({
      code: 'checksum_mismatch',
      exit: 13,
      hint: expect.stringMatching(/^mediactl .*, to upload the file again; do not use that asset$/),
    });
  });

  const withoutChecksum = ({ method }: { method: string }) =>
    method === 'PATCH' || method === 'HEAD'
      ? { headers: ({ 'x-checksum-blake3': _, ...others }: Record<string, string>) => others }
      : undefined;

  it('unverified', async () => {
    world.fault = withoutChecksum;
    expect(await failing(['--require-checksum'])).toEqual(errorInTable('unverified'));
  });

  it('session_broken if the service lost bytes', async () => {
    world.fault = (request) =>
      request.method === 'HEAD'
        ? { headers: (told) => ({ ...told, 'upload-offset': '1000' }) }
        : withoutChecksum(request);
    expect(await failing()).toEqual({
      code: 'session_broken',
      exit: 10,
      hint: 'run the same command again',
    });
  });

  it('session_mismatch if the session is for another number of bytes', async () => {
    world.fault = ({ method }) =>
      method === 'POST'
        ? respondWith(
            201,
            { uid: 's', location: '/api/external/v1/upload/s/', asset_uid: 'a', total_size: 3 },
            { location: '/api/external/v1/upload/s/' },
          )
        : undefined;
    expect(await failing()).toEqual({
      code: 'session_mismatch',
      exit: 13,
      hint: 'mediactl get a, to see the asset that it created',
    });
  });
});

describe('the run', () => {
  it('partial_failure', async () => {
    const path = join(world.cli.home, 'no-media.mp4');
    writeFileSync(path, 'no media');
    const ran = await world.run(['upload', world.path, path, '--wait', '--json']);
    expect(errorOf(ran)).toEqual({
      code: 'partial_failure',
      exit: 11,
      hint: 'check that the file plays on your machine, then upload it again with upload --force',
    });
  });

  it('until', async () => {
    const time = createLatch();
    const clock = fastClock();
    const untilMs = 3_500_000;
    const sleep: Clock['sleep'] = (delayMs, signal) => (delayMs > untilMs ? time.opened : clock.sleep(delayMs, signal));
    world.fault = ({ method, nth }) => (method === 'PATCH' && nth === 2 ? { beforeResponse: time.open } : undefined);
    const upload = () => world.upload(['--stop-at', '1h'], { clock: { ...clock, sleep } });
    expect(errorOf(await upload())).toEqual({
      code: 'stopped_at_limit',
      exit: 9,
      hint: expect.stringMatching(/^run the same command again, or mediactl uploads/),
    });
  });

  it('until, whichever moment the time is over at', async () => {
    const args = ['upload', world.path, '--json', '--stop-at', '1ms', '--limit-rate', '1k'];
    for (let run = 0; run < 20; run++) expect(await world.run(args)).toMatchObject({ code: 9 });
  });

  it('reserve', async () => {
    const other = join(world.cli.home, 'other.bin');
    writeFileSync(other, 'other');
    const ran = await world.run(['upload', world.path, other, '--json', '--reserve-requests', '100000']);
    expect(errorOf(ran)).toMatchObject(errorInTable('reserve_too_large'));
  });

  it('processing_failed', async () => {
    const path = join(world.cli.home, 'no-media.mp4');
    writeFileSync(path, 'no media');
    const ran = await world.run(['upload', path, '--wait', '--json']);
    expect(errorOf(ran)).toEqual(errorInTable('processing_failed'));
  });

  it('state_unusable if the database is not a file', async () => {
    mkdirSync(join(world.cli.home, 'state/receipts.db'), { recursive: true });
    expect(errorOf(await world.upload())).toEqual({
      code: 'state_unusable',
      exit: 14,
      hint: 'move it out of the way, then run the same command again',
    });
  });
});
