import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CliOptions } from '../support/cli.ts';
import { acceleratedClock, clockWithStopTime } from '../support/clock.ts';
import { errorInTable, errorOf, recordedError } from '../support/errors.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { FileServer } from '../support/file-server.ts';
import { writeRandomFile } from '../support/files.ts';
import { createLatch } from '../support/latch.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

/* Provokes errors of uploads, and compares code, exit code and next step. */

const setup = setUpUploader();

/** Uploads the file with these arguments, which must fail, and returns its error. */
async function uploadError(args: string[] = [], options: CliOptions = {}) {
  const { record } = await setup.upload(args, options);
  return recordedError(record.error);
}

describe('upload errors of files', () => {
  const duringUpload = (change: () => void) => {
    setup.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2 ? { beforeResponse: () => change() } : undefined;
  };

  it('upload exits with 13 and code file_changed if the file grows during the upload', async () => {
    duringUpload(() => appendFileSync(setup.path, 'more'));
    expect(await uploadError()).toEqual(errorInTable('file_changed'));
  });

  it('upload exits with 2 and code file_unusable if the file is deleted during the upload', async () => {
    duringUpload(() => rmSync(setup.path));
    expect(await uploadError()).toEqual(errorInTable('file_gone'));
  });

  it('upload exits with 2 and code file_unusable if a file name is not UTF-8', async () => {
    const folder = join(setup.cli.home, 'latin');
    mkdirSync(folder);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9]), Buffer.from('.bin')]), 'data');
    const { stdout } = await setup.run(['upload', '--flatten', folder, '--json']);
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual({
      code: 'file_unusable',
      exit: 2,
      hint: 'rename it; convmv renames many files at once',
    });
  });

  it('upload exits with 10 and code source_failed if the source URL returns 403', async () => {
    const fileServer = await FileServer.start(Buffer.alloc(10_000));
    fileServer.fault = () => ({ respond: (response) => response.writeHead(403).end() });
    const upload = () => setup.run(['upload', fileServer.url, '--json', '--max-wait', '0s']);
    expect(errorOf(await upload())).toEqual(errorInTable('source_forbidden'));
  });

  it('upload exits with 10 and code source_failed if the source URL returns the wrong range', async () => {
    const fileServer = await FileServer.start(Buffer.alloc(10_000));
    fileServer.fault = ({ headers }) =>
      headers.range === 'bytes=0-0' ? undefined : { headers: { 'content-range': 'bytes 7-9/10000' } };
    const { stdout } = await setup.run(['upload', fileServer.url, '--json']);
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual({
      code: 'source_failed',
      exit: 10,
      hint: expect.stringMatching(/^run the same command again, or mediactl uploads resume /),
    });
  });

  it('upload exits with 10 and code source_failed if the source URL asks for a wait past --max-wait', async () => {
    const fileServer = await FileServer.start(Buffer.alloc(10_000));
    fileServer.fault = () => ({ respond: (response) => response.writeHead(429, { 'retry-after': '9999' }).end() });
    expect(errorOf(await setup.run(['upload', fileServer.url, '--json', '--max-wait', '0s']))).toEqual(
      errorInTable('source_busy'),
    );
  });

  it('upload exits with 2 and code file_unusable if the path is a symbolic link to itself', async () => {
    const path = join(setup.cli.home, 'loop.mp4');
    symlinkSync(path, path);
    expect(errorOf(await setup.run(['upload', path, '--json']))).toEqual(errorInTable('unreadable_file'));
  });

  it('upload exits with 2 and code file_unusable if a directory cannot be read', async () => {
    // Its path is longer than the system allows, which no permission of this user overcomes.
    const name = 'd'.repeat(250);
    const makeDeep = `for (let n = 0; n < 20; n++) { fs.mkdirSync('${name}'); process.chdir('${name}') }`;
    spawnSync(process.execPath, ['-e', makeDeep], { cwd: setup.cli.home });
    onTestFinished(() => void spawnSync('rm', ['-r', join(setup.cli.home, name)]));
    const { stdout } = await setup.run(['upload', '--flatten', join(setup.cli.home, name), '--json']);
    expect(recordedError(JSON.parse(stdout)[0].error)).toEqual({
      code: 'file_unusable',
      exit: 2,
      hint: 'fix its permissions, or exclude it',
    });
  });
});

describe('upload errors of stdin', () => {
  it('upload exits with 1 and code write_failed if the disk is too small for the copy of stdin', {
    tags: 'root-mount',
  }, async () => {
    const environment = { MEDIACTL_STATE_DIR: join(new SmallDisk().path, 'state') };
    const args = ['upload', '-', '--name', 'x.bin', '--json'];
    expect(errorOf(await setup.run(args, { stdin: Buffer.alloc(5_000_000), environment }))).toEqual({
      code: 'write_failed',
      exit: 1,
      hint: 'free some disk space, use another state folder, or upload a file instead',
    });
  });
});

describe('upload errors of sessions', () => {
  it('upload exits with 6 and code upload_in_progress if another run uploads the same file', async () => {
    let errorOfOtherRun: unknown;
    setup.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2
        ? {
            beforeResponse: async () => {
              errorOfOtherRun = await uploadError();
            },
          }
        : undefined;
    await setup.upload();
    expect(errorOfOtherRun).toEqual(errorInTable('upload_in_progress'));
  });

  it('upload exits with 3 and code session_unknown if the session is gone after the last chunk', async () => {
    setup.bytes = writeRandomFile(setup.path, { size: 1000 });
    setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, {}) : undefined);
    await setup.upload();
    const { assetUid } = setup.storedEntry().session;
    setup.fault = ({ method, path }) => {
      if (method === 'HEAD') return respondWith(404);
      return path.includes(assetUid) ? respondWith(200, { uid: assetUid, status: 'transcoding' }) : undefined;
    };
    expect(await uploadError([], { clock: acceleratedClock() })).toEqual({
      code: 'session_unknown',
      exit: 3,
      hint: `mediactl get ${assetUid}, to check it; --yes starts over and keeps that asset`,
    });
  });

  it('upload exits with 10 and code session_broken if responses lack an offset', async () => {
    setup.fault = ({ method }) =>
      method === 'PATCH' ? { headers: ({ 'upload-offset': _, ...others }) => others } : undefined;
    expect(await uploadError()).toEqual(errorInTable('session_broken'));
  });

  it('upload exits with 13 and code session_mismatch if the offset is past the end of the file', async () => {
    setup.fault = ({ method }) =>
      method === 'PATCH'
        ? { headers: (headers) => ({ ...headers, 'upload-offset': `${10 * chunkBytes}` }) }
        : undefined;
    expect(await uploadError()).toEqual(errorInTable('session_mismatch'));
  });

  it('upload exits with 3 and code session_unknown if a new session returns 404', async () => {
    setup.fault = ({ method }) => (method === 'HEAD' || method === 'PATCH' ? respondWith(404) : undefined);
    expect(await uploadError()).toEqual({
      code: 'session_unknown',
      exit: 3,
      hint: expect.stringMatching(/^mediactl get \S+, to check it; --yes starts over and keeps that asset$/),
    });
  });

  it('upload exits with 13 and code checksum_mismatch if the checksum of the service differs', async () => {
    setup.fault = ({ method }) =>
      method === 'PATCH'
        ? {
            headers: (headers) =>
              headers['x-checksum-blake3'] ? { ...headers, 'x-checksum-blake3': 'f'.repeat(64) } : headers,
          }
        : undefined;
    expect(await uploadError()).toEqual(errorInTable('checksum_mismatch'));
  });

  const withoutChecksum = ({ method }: { method: string }) =>
    method === 'PATCH' || method === 'HEAD'
      ? { headers: ({ 'x-checksum-blake3': _, ...others }: Record<string, string>) => others }
      : undefined;

  it('upload --require-checksum exits with 13 and code unverified if the service sends no checksum', async () => {
    setup.fault = withoutChecksum;
    expect(await uploadError(['--require-checksum'])).toEqual(errorInTable('unverified'));
  });

  it('upload exits with 10 and code session_broken if the service has lost bytes', async () => {
    // Without a checksum in the last response, the client asks for the offset with HEAD.
    const offsetAfterLoss = '1000';
    setup.fault = (request) =>
      request.method === 'HEAD'
        ? { headers: (headers) => ({ ...headers, 'upload-offset': offsetAfterLoss }) }
        : withoutChecksum(request);
    expect(await uploadError()).toEqual({ code: 'session_broken', exit: 10, hint: 'run the same command again' });
  });

  it('upload exits with 13 and code session_mismatch if the session is for another number of bytes', async () => {
    setup.fault = ({ method }) =>
      method === 'POST'
        ? respondWith(
            201,
            { uid: 's', location: '/api/external/v1/upload/s/', asset_uid: 'a', total_size: 3 },
            { location: '/api/external/v1/upload/s/' },
          )
        : undefined;
    expect(await uploadError()).toEqual({
      code: 'session_mismatch',
      exit: 13,
      hint: 'mediactl get a, to see the asset that it created',
    });
  });
});

describe('upload errors of runs', () => {
  it('upload --wait exits with 11 and code partial_failure if one of two files cannot be processed', async () => {
    const path = join(setup.cli.home, 'no-media.mp4');
    writeFileSync(path, 'no media');
    const uploadRun = await setup.run(['upload', setup.path, path, '--wait', '--json']);
    expect(errorOf(uploadRun)).toEqual({
      code: 'partial_failure',
      exit: 11,
      hint: 'check that the files play on your machine; mediactl rm ID, then the same command, sends one again',
    });
  });

  it('upload --stop-at exits with 0 if the time is up within a file, and says how to continue', async () => {
    const stopTime = createLatch();
    const clock = clockWithStopTime(acceleratedClock(), stopTime.opened);
    setup.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2 ? { beforeResponse: stopTime.open } : undefined;
    const { code, record, stderr } = await setup.upload(['--stop-at', '1h'], { clock });
    expect([code, record]).toMatchObject([0, { outcome: 'interrupted', error: null }]);
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) as string).stopped).toEqual({
      message: 'stopped after 1h',
      files_remaining_count: 1,
      hint: expect.stringMatching(/^run the same command again, or mediactl uploads resume /),
    });
  });

  it('upload --stop-at 1ms exits with 0 at whatever point of the run the time is up', async () => {
    const args = ['upload', setup.path, '--json', '--stop-at', '1ms', '--limit-rate', '1k'];
    for (let run = 0; run < 20; run++) expect(await setup.run(args)).toMatchObject({ code: 0 });
  });

  it('upload exits with code reserve_too_large if --reserve-requests exceeds the rate limit', async () => {
    const other = join(setup.cli.home, 'other.bin');
    writeFileSync(other, 'other');
    const ran = await setup.run(['upload', setup.path, other, '--json', '--reserve-requests', '100000']);
    expect(errorOf(ran)).toMatchObject(errorInTable('reserve_too_large'));
  });

  it('upload --wait exits with 12 and code processing_failed if the file cannot be processed', async () => {
    const path = join(setup.cli.home, 'no-media.mp4');
    writeFileSync(path, 'no media');
    const ran = await setup.run(['upload', path, '--wait', '--json']);
    const [{ asset_uid }] = JSON.parse(ran.stdout);
    const { hint, ...error } = errorInTable('processing_failed');
    expect(errorOf(ran)).toEqual({ ...error, hint: String(hint).replace('ID', asset_uid) });
  });

  it('upload exits with 14 and code state_unusable if the receipt database is a directory', async () => {
    mkdirSync(join(setup.cli.home, 'state/receipts.db'), { recursive: true });
    expect(errorOf(await setup.upload())).toEqual({
      code: 'state_unusable',
      exit: 14,
      hint: 'move it out of the way, then run the same command again',
    });
  });
});
