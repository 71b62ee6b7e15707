import { isDeepStrictEqual } from 'node:util';
import { Command } from '@commander-js/extra-typings';
import { beforeEach, expect, it } from 'vitest';
import type { CommandOutcome } from '../../src/cli/command.ts';
import { waitForUploads } from '../../src/cli/commands/assets/wait.ts';
import { runCheck } from '../../src/cli/commands/check/check.ts';
import { parseWriteLimit } from '../../src/cli/commands/confirm-many.ts';
import { dropSettings } from '../../src/cli/commands/page/drop-uploader.ts';
import { parseWorkerRequest } from '../../src/cli/commands/queue/work.ts';
import { runUpload } from '../../src/cli/commands/upload/upload.ts';
import {
  addUploadOptions,
  parseUploadRequest,
  type UploadRequest,
} from '../../src/cli/commands/upload/upload-request.ts';
import { runCleanup } from '../../src/cli/commands/uploads/cleanup.ts';
import { resumeSettings, runResume } from '../../src/cli/commands/uploads/resume.ts';
import { runForget, runList } from '../../src/cli/commands/uploads/uploads.ts';
import type { Context } from '../../src/cli/context.ts';
import { defaultSettings, type UploadSettings } from '../../src/client/upload/decide/upload-settings.ts';
import { everyFile } from '../../src/client/upload/sources/file-chooser.ts';
import { settingsOf } from '../../src/sdk/uploads.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { isStrict } from '../support/sandbox.ts';
import { setUpUploader } from '../support/upload-setup.ts';

/* Verbs that upload, called with a request in place of argv. */

const setup = setUpUploader();
let request: UploadRequest;
beforeEach(() => {
  request = {
    inputs: [setup.path],
    folder: '/',
    createFolders: false,
    mirrorsTree: true,
    force: false,
    sync: false,
    settings: { ...defaultSettings, transfers: 1 },
    ...{
      filesFrom: undefined,
      manifest: undefined,
      encoding: undefined,
      nameTemplate: undefined,
      resultsFile: undefined,
    },
    ...{ tags: [], roots: [] },
    pruneLimit: undefined,
    queue: undefined,
    preview: false,
    watch: undefined,
    moveTo: undefined,
    progress: 'none',
    verbose: false,
  };
});

/** Reads the records of an outcome to their end, and the error to exit with. */
async function readOutcome(outcome: CommandOutcome) {
  const { result, failure } = 'result' in outcome ? outcome : { result: outcome, failure: undefined };
  const records = [];
  if (result.kind === 'list') for await (const page of result.pages) records.push(...page);
  return { records, failure: typeof failure === 'function' ? failure() : failure };
}

const withContext = <T>(work: (context: Context) => Promise<T>) =>
  setup.cli.withContext(work, { environment: setup.environment() });

const uploadWith = (changes: Partial<UploadRequest> = {}) =>
  withContext(async (context) => readOutcome(await runUpload(context, { ...request, ...changes })));

it('each setting of an upload has the ways in that set it, so that a default hides none that forgot', async () => {
  const upload = addUploadOptions(new Command()).parse(
    [
      ...[
        setup.path,
        '--exclude',
        '*.tmp',
        '--name',
        'a',
        '--existing',
        'name',
        '--checksum',
        '--require-checksum',
        '--wait',
      ],
      ...[
        '--transfers',
        '3',
        '--limit-rate',
        '5MiB',
        '--reserve-requests',
        '7',
        '--stop-at',
        '8h',
        '--chunk-size',
        '1MiB',
      ],
    ],
    { from: 'user' },
  );
  const environment = { ...setup.environment(), MEDIACTL_REQUEST_TIMEOUT: '7s' };
  const ways = await setup.cli.withContext(
    async (context): Promise<Record<string, UploadSettings>> => ({
      upload: (await parseUploadRequest(context, upload.args, upload.opts())).settings,
      resume: resumeSettings(context, { existing: 'upload', wait: true, timeout: '30m' }),
      page: dropSettings(context, 5),
      worker: parseWorkerRequest(context, {
        ...{ queue: 'redis://queue.lan', root: [], lease: '30s', maxCrashes: '10' },
        ...{ transfers: '3', limitRate: '5MiB', reserveRequests: '7' },
      }).options.settings,
      package: settingsOf(
        { requestTimeoutMs: 7_000 },
        {
          ...{ exclude: ['*.tmp'], name: 'a', existing: 'anywhere', requireChecksum: true },
          ...{ transfers: 3, limitRate: 5, chunkBytes: 7 },
        },
      ),
    }),
    { environment },
  );
  const setters = (field: keyof UploadSettings) =>
    Object.keys(ways).filter((way) => !isDeepStrictEqual(ways[way]?.[field], defaultSettings[field]));
  const fields = Object.keys(defaultSettings) as (keyof UploadSettings)[];
  expect(Object.fromEntries(fields.map((field) => [field, setters(field).join(' ')]))).toEqual({
    choice: 'upload package',
    about: 'upload package',
    existing: 'upload resume package',
    checksum: 'upload',
    requireChecksum: 'upload package',
    transfers: 'upload worker package',
    lane: 'page',
    rateLimit: 'upload page worker package',
    reserveRequests: 'upload worker',
    stopAt: 'upload',
    chunkBytes: 'upload package',
    idleTimeoutMs: 'upload resume page worker package',
    timeoutMs: 'upload resume',
  });
});

it('runUpload returns the records of its files', async () => {
  const { records, failure } = await uploadWith();
  expect(failure).toBeUndefined();
  expect(records).toMatchObject([{ path: setup.path, outcome: 'uploaded', verified: true }]);
  const { records: secondRun } = await uploadWith({ preview: true, verbose: true });
  expect(secondRun).toMatchObject([{ outcome: 'skipped', asset_uid: records[0].asset_uid }]);
});

it('runUpload returns the error to exit with, and the upload can be listed, resumed and forgotten', async () => {
  setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, { error: {} }) : undefined);
  expect((await uploadWith()).failure).toMatchObject({ kind: 'quota' });
  setup.fault = () => undefined;
  const listUploads = () => withContext(async (context) => readOutcome(await runList(context, false)));
  const [{ id }] = (await listUploads()).records;
  const { records } = await withContext(async (context) => {
    return readOutcome(await runResume(context, { ...request, id }));
  });
  expect(records).toMatchObject([{ outcome: 'uploaded', verified: true }]);
  expect((await listUploads()).records).toEqual([]);
  const forgetOutcome = await withContext(async (context) =>
    readOutcome(await runForget(context, { id: undefined, which: 'all' })),
  );
  expect(forgetOutcome).toEqual({ records: [], failure: undefined });
});

it('waitForUploads returns the final status of assets, and runCleanup returns no orphans', async () => {
  await uploadWith();
  const waitOutcome = await withContext(async (context) => readOutcome(await waitForUploads(context, 60_000)));
  expect(waitOutcome.records).toMatchObject([
    { path: setup.path, asset_status: expect.stringMatching(/ready|failed/) },
  ]);
  const limit = parseWriteLimit(undefined);
  const cleanup = await withContext(async (context) => readOutcome(await runCleanup(context, { trash: true, limit })));
  expect(cleanup).toEqual({ records: [], failure: undefined });
});

it.skipIf(isStrict)('runCheck returns the missing files and the error to exit with', async () => {
  const outcome = await withContext(async (context) =>
    readOutcome(
      await runCheck(context, {
        directory: setup.cli.home,
        folder: '/',
        choice: { ...everyFile, include: ['*.bin'] },
        download: false,
        listsMatches: false,
      }),
    ),
  );
  const { path } = setup;
  const missing = { path, outcome: 'missing_remotely', asset_uid: null, evidence: null, found_at: null };
  expect(outcome.records).toContainEqual(missing);
  expect(outcome.failure).toMatchObject({ kind: 'partial' });
});
