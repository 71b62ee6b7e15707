import { beforeEach, expect, it } from 'vitest';
import type { CommandOutcome } from '../../src/cli/command.ts';
import { runCheck } from '../../src/cli/commands/check/check.ts';
import { parseWriteLimit } from '../../src/cli/commands/confirm-many.ts';
import { runUpload } from '../../src/cli/commands/upload/upload.ts';
import type { UploadRequest } from '../../src/cli/commands/upload/upload-request.ts';
import { runCleanup } from '../../src/cli/commands/uploads/cleanup.ts';
import { runResume } from '../../src/cli/commands/uploads/resume.ts';
import { runForget, runList } from '../../src/cli/commands/uploads/uploads.ts';
import type { Context } from '../../src/cli/context.ts';
import { parseUploadOptions } from '../../src/cli/uploading/upload-options.ts';
import { waitForUploads } from '../../src/cli/uploading/wait-for-uploads.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { isStrict } from '../support/sandbox.ts';
import { setUpUploader } from '../support/upload-setup.ts';

/* Verbs that upload, called with a request in place of argv. */

const setup = setUpUploader();
let request: Omit<UploadRequest, 'options'>;
beforeEach(() => {
  request = {
    inputs: [setup.path],
    folder: '/',
    createFolders: false,
    mirrorsTree: true,
    force: false,
    sync: false,
    sources: { include: [], exclude: [], roots: [] },
    pruneLimit: undefined,
    queue: undefined,
    preview: false,
    watch: undefined,
    moveTo: undefined,
    rateLimit: undefined,
    reserveRequests: undefined,
    stopAt: undefined,
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
  withContext(async (context) => {
    const options = { ...parseUploadOptions(context, {}), transfers: 1, about: {} };
    return readOutcome(await runUpload(context, { ...request, options, ...changes }));
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
    const options = parseUploadOptions(context, {});
    return readOutcome(await runResume(context, { id, all: false, options, timeoutMs: undefined, progress: 'none' }));
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
        include: ['*.bin'],
        exclude: [],
        download: false,
      }),
    ),
  );
  const { path } = setup;
  expect(outcome.records).toContainEqual({ path, outcome: 'missing_remotely', asset_uid: null });
  expect(outcome.failure).toMatchObject({ kind: 'partial' });
});
