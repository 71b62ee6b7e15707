import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { writeRandomFile } from '../support/files.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const fileCount = 8;
const fileBytes = 2 * chunkBytes + 100;

/** Interrupts an upload of eight files, waiting for their assets, at the nth request. @returns its summary and receipts */
async function interruptAt(nthRequest: number) {
  const folder = join(setup.cli.home, `run ${nthRequest}`);
  mkdirSync(folder);
  for (let n = 0; n < fileCount; n++)
    writeRandomFile(join(folder, `${nthRequest} ${n}.bin`), { size: fileBytes, seed: `${nthRequest} ${n}` });
  const abort = new AbortController();
  let requests = 0;
  let sentBytes = 0;
  setup.fault = ({ method }) => {
    if (++requests === nthRequest) abort.abort(new CodedError('interrupted', { code: 'interrupted' }));
    let sentBefore = 0;
    const onBytes = (sentNow: number) => {
      sentBytes += sentNow - sentBefore;
      sentBefore = sentNow;
    };
    return method === 'PATCH' ? { onBytes } : undefined;
  };
  const args = ['upload', '--flatten', folder, '--wait', '--transfers', '2', '--chunk-size', '64KiB'];
  const environment = { ...setup.environment(), MEDIACTL_STATE_DIR: join(folder, '../state') };
  const { code, stderr } = await setup.cli.run(args, { environment, signal: abort.signal });
  const summary = stderr.split('\n').findLast((line) => / sent in /.test(line)) ?? '';
  const finished = await setup.cli.json(['uploads', 'ls', '--finished'], { environment });
  return { code, summary, sentBytes, receipts: finished.filter(({ path }: { path: string }) => path.includes(folder)) };
}

const countIn = (summary: string, words: string) => Number(new RegExp(`(\\d+) ${words}`).exec(summary)?.[1] ?? 0);

it.each([3, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 31, 32, 33, 34, 36])(
  'upload prints a summary that matches its receipts if it is interrupted at request %i',
  async (nthRequest) => {
    const { code, summary, receipts, sentBytes } = await interruptAt(nthRequest);
    if (code === 0) return; // it was over before
    expect(code).toBe(130);
    const receiptsInState = (state: string) =>
      receipts.filter((receipt: { asset_state: string }) => receipt.asset_state === state).length;
    expect([countIn(summary, 'uploaded and ready'), countIn(summary, 'uploaded and still processing')]).toEqual([
      receiptsInState('ready'),
      receiptsInState('unchecked'),
    ]);
    expect(receipts.length + countIn(summary, 'not finished') + countIn(summary, 'failed')).toBe(fileCount);
    const [, amount = '', unit = ''] = /([\d.]+) (B|KiB|MiB) sent/.exec(summary) ?? [];
    const reportedBytes = Number(amount) * { B: 1, KiB: 1024, MiB: 1024 ** 2 }[unit as 'B'];
    // Bytes that were handed to the connection before the abort may not have arrived.
    expect(reportedBytes).toBeGreaterThanOrEqual(sentBytes * 0.94);
    expect(reportedBytes).toBeLessThanOrEqual(sentBytes + 4 * chunkBytes);
  },
);

it('upload records a session that is being created during an interruption, and the next run resumes it', async () => {
  const abort = new AbortController();
  setup.fault = ({ method }) =>
    method === 'POST'
      ? {
          beforeResponse: () => {
            abort.abort(new CodedError('interrupted', { code: 'interrupted' }));
          },
        }
      : undefined;
  const first = await setup.upload([], { signal: abort.signal });
  expect(first.code).toBe(130);
  expect(setup.storedEntry()).toMatchObject({ state: 'open' });
  setup.fault = () => undefined;
  const { record } = await setup.upload();
  await setup.expectUploaded(record);
  expect(await setup.findAssets()).toHaveLength(1);
});
