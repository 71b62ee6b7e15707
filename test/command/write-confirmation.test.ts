import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { testKey } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/*
 * A folder counts as deleted only when the folder tree no longer has it, because the specification does not show the
 * response to its DELETE (assumption A04).
 */

const uid = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const workspace = uid(9);

/** Starts a service that responds to DELETE with this status, and deletes nothing. */
async function startServiceThatDeletesNothing(status: number, body: object | undefined, isListed = false) {
  const folders = [{ uid: uid(1), name: 'Campaigns', children: [{ uid: uid(2), name: '2026', children: [] }] }];
  const { url } = await startRecordingServer(({ method, path }) => {
    if (method === 'DELETE') return { status, ...(body && { body }) };
    if (path.endsWith('/folders/')) return { body: folders };
    if (path.endsWith('/workspaces/')) return { body: { items: [{ uid: workspace, name: 'Main' }] } };
    if (path.endsWith(`${uid(3)}/`)) return { body: { uid: uid(3), name: 'a.mp4' } };
    const items = isListed ? [{ uid: uid(3), name: 'a.mp4' }] : [];
    return { body: { items, count: items.length } };
  });
  return new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspace });
}

it.each([
  [202, undefined],
  [200, { success: false, error: 'the folder is in use' }],
])('rm of a folder fails if the folder still exists after a DELETE response with status %i', async (status, body) => {
  const cli = await startServiceThatDeletesNothing(status, body);
  for (const args of [
    ['folders', 'rm', '/Campaigns/2026', '--yes'],
    ['rm', '-r', '/Campaigns/2026', '--yes'],
  ]) {
    const { code, stderr } = await cli.run(args, { clock: acceleratedClockInProcess() });
    expect([code, stderr]).toEqual([
      expect.toBeOneOf([6, 11]),
      expect.stringContaining('did not delete /Campaigns/2026'),
    ]);
  }
});

it.each([200, 202, 204])(
  'rm of an asset exits with 6 after a DELETE response with status %i if the asset is still listed after 3 s',
  async (status) => {
    const cli = await startServiceThatDeletesNothing(status, status === 204 ? undefined : {}, true);
    const clock = acceleratedClockInProcess();
    const { code, stderr } = await cli.run(['rm', uid(3), '--yes'], { clock });
    expect([code, stderr]).toEqual([6, expect.stringContaining('but still lists the asset')]);
  },
);

it.each([200, 202, 204])(
  'rm of an asset exits with 0 after a DELETE response with status %i if only a GET still shows the asset',
  async (status) => {
    const cli = await startServiceThatDeletesNothing(status, status === 204 ? undefined : {});
    expect((await cli.run(['rm', uid(3), '--yes'])).code).toBe(0);
  },
);
