import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import { createLibrary, type LibraryOptions, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* What a user sees of a deletion before it happens, since the API cannot restore what is in the trash. */

const assetOf = (n: number, fields: object = {}) => ({
  ...{ uid: numberedUid(n), name: `take ${n}.mp4`, type: 'video', status: 'ready', size: 2048 },
  ...{ created_at: '2026-03-01T11:00:00Z', parent: null, ...fields },
});

/** Runs a command on a library of these assets. */
async function run(args: readonly string[], assets: NonNullable<LibraryOptions['assets']>, options: CliOptions = {}) {
  const service = await startRecordingServer(createLibrary({ assets, shows: ['size', 'parent'] }));
  const cli = new Cli({ MEDIACTL_BASE_URL: service.url, MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspaceUid });
  const result = await cli.run(args, options);
  return { ...result, deleted: service.requests.filter(({ method }) => method === 'DELETE').length };
}

it('rm of many assets leaves no listener at the signal that interrupts it', async () => {
  const assets = Array.from({ length: 12 }, (_, n) => assetOf(n));
  const { signal } = new AbortController();
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const { code, deleted } = await run(['rm', ...assets.map(({ uid }) => uid), '--yes'], assets, {
    signal,
    inProcess: 'counts the listeners of its signal',
  });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  expect([code, deleted]).toEqual([0, 12]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(warnings).toEqual([]);
});
