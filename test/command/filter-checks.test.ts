import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { createLibrary, testKey } from '../support/fake-library.ts';
import { type RecordedRequest, type Responder, startRecordingServer } from '../support/recording-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Option = { flags: string };
type DescribedCommand = { path: string; options: Option[]; children: DescribedCommand[] };

/** A value of every filter that the record below does not match. */
const unmatchedValues: Record<string, string> = {
  '--search': 'draft',
  '--status': 'failed',
  '--created-after': '2026-06-01',
  '--created-before': '2020-01-01',
  '--type': 'audio',
  '--folder': '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7ff',
  '--tag': 'draft',
};
/** Options that are not filters. */
const nonFilterOptions = [
  ...['--max-changes', '--newest', '--pick', '--any-workspace', '--recursive', '--add', '--remove', '--set'],
];
const changeArgsByVerb = { rm: [], tag: ['--add', 'overwritten'] };

const uid = '00000000-0000-4000-8000-000000000001';
const assetWithoutFields = { uid, name: 'kept' };
const assetWithFields = {
  ...assetWithoutFields,
  type: 'video',
  status: 'ready',
  tags: ['kept'],
  parent: null,
  created_at: '2026-03-01T11:00:00Z',
};

/** Creates a service that ignores all filters. */
const respondIgnoringFilters =
  (item: object): Responder =>
  ({ method, path }) =>
    path.endsWith('/folders/')
      ? { body: [] }
      : { status: method === 'DELETE' ? 204 : 200, body: { ...item, items: [item], count: 1 } };

const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: uid });
const assets: DescribedCommand = await cli.json(['commands', 'assets']);
const optionsOf = (verb: string) => {
  const command = assets.children.find(({ path }) => path.endsWith(` ${verb}`)) as DescribedCommand;
  return command.options.map(({ flags }) => /--[a-z-]+/.exec(flags)?.[0] as string);
};
const writeRequests = (requests: RecordedRequest[]) => requests.filter(({ method }) => method !== 'GET');

describe.each(Object.entries(changeArgsByVerb))('assets %s', (verb, changeArgs) => {
  const filters = optionsOf(verb).filter((option) => !nonFilterOptions.includes(option));
  let requests: RecordedRequest[];
  let runWithFilter: (
    responder: Responder,
    filter: string,
    value?: string,
  ) => Promise<{ code: number; stderr: string }>;
  beforeEach(() => {
    runWithFilter = async (responder, filter, value = unmatchedValues[filter] as string) => {
      const server = await startRecordingServer(responder);
      requests = server.requests;
      return cli.run(['assets', verb, filter, value, ...changeArgs, '--yes'], {
        environment: { MEDIACTL_BASE_URL: server.url },
      });
    };
  });

  it(`this test has a value that matches no asset for every filter of assets ${verb}`, () => {
    expect(filters.sort()).toEqual(Object.keys(unmatchedValues).sort());
  });

  it.each(
    filters.flatMap(
      (filter) =>
        [
          ['show', filter, assetWithFields],
          ['omit', filter, assetWithoutFields],
        ] as const,
    ),
  )(
    `assets ${verb} writes nothing if the service ignores a filter and records %s its field: %s`,
    async (_which, filter, item) => {
      const { code, stderr } = await runWithFilter(respondIgnoringFilters(item), filter);
      expect([code, stderr]).toEqual([6, expect.stringContaining('the service ignored a filter')]);
      expect(writeRequests(requests)).toEqual([]);
    },
  );

  it(`assets ${verb} sends its write request if the service applies the filter`, async () => {
    const { code } = await runWithFilter(createLibrary(), '--created-after', '2026-01-01');
    expect(code).toBe(0);
    expect(writeRequests(requests)).toHaveLength(1);
  });
});

const folders = [{ uid: '00000000-0000-4000-8000-0000000000f1', name: 'Campaigns', parent_uid: null, children: [] }];

it.each([
  ['ls -r', ['ls', '/Campaigns', '-r']],
  ['ls with a glob', ['ls', '/Campaigns/*']],
  ['rm -r', ['rm', '-r', '/Campaigns', '--yes']],
  ['check', ['check', temporaryFolder(), '/Campaigns']],
])('%s exits with 6 if the service lists assets of other folders and records show no folder', async (_, args) => {
  const { url, requests } = await startRecordingServer((request) =>
    request.path.endsWith('/folders/') ? { body: folders } : respondIgnoringFilters(assetWithoutFields)(request),
  );
  const { code, stderr } = await cli.run(args, { environment: { MEDIACTL_BASE_URL: url } });
  expect([code, stderr]).toEqual([6, expect.stringContaining('the service ignored a filter: parent')]);
  expect(writeRequests(requests)).toEqual([]);
});
