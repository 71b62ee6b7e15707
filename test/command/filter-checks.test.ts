import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { createLibrary, testKey } from '../support/fake-library.ts';
import { type RecordedRequest, type Responder, startRecordingServer } from '../support/recording-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Option = { flags: string };
type Described = { path: string; options: Option[]; children: Described[] };

/** A value of every filter that the record below does not match. */
const unmatched: Record<string, string> = {
  '--search': 'draft',
  '--status': 'failed',
  '--created-after': '2026-06-01',
  '--created-before': '2020-01-01',
  '--type': 'audio',
  '--folder': '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7ff',
  '--tag': 'draft',
};
/** Options that are not filters. */
const others = [
  ...['--max-delete', '--max-changes', '--name', '--description', '--add-tag', '--remove-tag'],
  ...[
    '--set-tags',
    '--no-tags',
    '--set',
    '--set-json',
    '--body',
    '--newest',
    '--recursive',
    '--add',
    '--remove',
    '--create-folders',
  ],
];
const verbs = { rm: [], update: ['--name', 'overwritten'], tag: ['--add', 'overwritten'] };

const uid = '00000000-0000-4000-8000-000000000001';
const bare = { uid, name: 'kept' };
const full = {
  ...bare,
  type: 'video',
  status: 'ready',
  tags: ['kept'],
  parent: null,
  created_at: '2026-03-01T11:00:00Z',
};

/** Creates a service that ignores all filters. */
const all =
  (item: object): Responder =>
  ({ method, path }) =>
    path.endsWith('/folders/')
      ? { body: [] }
      : { status: method === 'DELETE' ? 204 : 200, body: { ...item, items: [item], count: 1 } };

const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: uid });
const assets: Described = await cli.json(['commands', 'assets']);
const filtersOf = (verb: string) => {
  const command = assets.children.find(({ path }) => path.endsWith(` ${verb}`)) as Described;
  return command.options.map(({ flags }) => /--[a-z-]+/.exec(flags)?.[0] as string);
};
const written = (requests: RecordedRequest[]) => requests.filter(({ method }) => method !== 'GET');

describe.each(Object.entries(verbs))('assets %s', (verb, change) => {
  const filters = filtersOf(verb).filter((option) => !others.includes(option));
  let requests: RecordedRequest[];
  let run: (service: Responder, filter: string, value?: string) => Promise<{ code: number; stderr: string }>;
  beforeEach(() => {
    run = async (service, filter, value = unmatched[filter] as string) => {
      const recorded = await startRecordingServer(service);
      requests = recorded.requests;
      return cli.run(['assets', verb, filter, value, ...change, '--yes'], {
        environment: { MEDIACTL_BASE_URL: recorded.url },
      });
    };
  });

  it(`this test has an unmatched value for every filter of assets ${verb}`, () => {
    expect(filters.sort()).toEqual(Object.keys(unmatched).sort());
  });

  it.each(
    filters.flatMap(
      (filter) =>
        [
          ['show', filter, full],
          ['omit', filter, bare],
        ] as const,
    ),
  )(
    `assets ${verb} writes nothing if the service ignores a filter and records %s its field: %s`,
    async (_which, filter, item) => {
      const { code, stderr } = await run(all(item), filter);
      expect([code, stderr]).toEqual([6, expect.stringContaining('the service ignored a filter')]);
      expect(written(requests)).toEqual([]);
    },
  );

  it(`assets ${verb} sends its write request if the service applies the filter`, async () => {
    const { code } = await run(createLibrary(), '--created-after', '2026-01-01');
    expect(code).toBe(0);
    expect(written(requests)).toHaveLength(1);
  });
});

const folders = [{ uid: '00000000-0000-4000-8000-0000000000f1', name: 'Campaigns', parent_uid: null, children: [] }];

it.each([
  ['ls -r', ['ls', '/Campaigns', '-r']],
  ['ls with a glob', ['ls', '/Campaigns/*']],
  ['rm -r', ['rm', '-r', '/Campaigns', '--yes']],
  ['check', ['check', temporaryFolder(), '/Campaigns']],
])('%s exits with 6 if the service lists assets of other folders, and records do not show theirs', async (_, args) => {
  const { url, requests } = await startRecordingServer((request) =>
    request.path.endsWith('/folders/') ? { body: folders } : all(bare)(request),
  );
  const { code, stderr } = await cli.run(args, { environment: { MEDIACTL_BASE_URL: url } });
  expect([code, stderr]).toEqual([6, expect.stringContaining('the service ignored a filter: parent')]);
  expect(written(requests)).toEqual([]);
});
