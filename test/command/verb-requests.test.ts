import { beforeEach, expect, it } from 'vitest';
import { runList } from '../../src/cli/commands/assets/list.ts';
import { runUpdate } from '../../src/cli/commands/assets/update.ts';
import { runLogin } from '../../src/cli/commands/auth/login.ts';
import { runRestrict } from '../../src/cli/commands/embed/embed.ts';
import { runCreate } from '../../src/cli/commands/folders/folders.ts';
import { Cli } from '../support/cli.ts';
import { assetUid, createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { type RecordedRequest, startRecordingServer } from '../support/recording-server.ts';

// A verb is parse and run: these call run with a context and a request, without argv.

let cli: Cli;
let requests: RecordedRequest[];
let url: string;
beforeEach(async () => {
  ({ requests, url } = await startRecordingServer(createLibrary()));
  cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
});

const sentWrites = () => requests.filter(({ method }) => method !== 'GET').map(({ method, body }) => [method, body]);

it('assets ls sends the given filter and limit to the service, and returns the assets of the page', () =>
  cli.withContext(async (context) => {
    const filters = { status: 'ready' };
    const result = await runList(context, { collection: 'assets', filters, limit: 7, offset: 0, words: [] });
    if (result.kind !== 'list') throw new Error('not a list');
    const assets: unknown[] = [];
    for await (const page of result.pages) assets.push(...page);
    expect(assets).toMatchObject([{ uid: assetUid }]);
    expect(requests[0]?.query).toMatchObject({ status: 'ready', limit: '7' });
  }));

it('assets update sends only the changed field to the service, and returns the updated asset', () =>
  cli.withContext(async (context) => {
    const limit = { count: 100, isTyped: false };
    const selection = { verb: 'update', collection: 'assets', ids: [assetUid], filters: {}, limit } as const;
    const result = await runUpdate(context, { ...selection, change: { fields: { name: 'Dusk' } } });
    expect(result).toMatchObject({ result: { record: { uid: assetUid, name: 'Dusk' } } });
    expect(sentWrites()).toEqual([['PATCH', { name: 'Dusk' }]]);
  }));

it('auth login stores the API key from stdin in the given profile, and makes that profile current', () =>
  cli.withContext(
    async (context) => {
      const result = await runLogin(context, { profile: 'ci', baseUrl: url, withKey: true });
      expect(result).toMatchObject({
        kind: 'record',
        record: { name: 'ci', base_url: url, workspace_uid: workspaceUid },
      });
      const { current, profiles } = await context.profiles.read();
      expect([current, profiles.ci?.key]).toEqual(['ci', testKey]);
    },
    { stdin: `${testKey}\n` },
  ));

it('folders create creates only the missing folders of the given path', () =>
  cli.withContext(async (context) => {
    const result = await runCreate(context, { names: ['Campaigns', 'Spring'], parents: true });
    expect(result).toMatchObject({ result: { record: { path: '/Campaigns/Spring' } } });
    expect(sentWrites()).toMatchObject([['POST', { name: 'Spring' }]]);
  }));

it('embed restrict turns the embed restriction on, and returns its new state', () =>
  cli.withContext(async (context) => {
    const result = await runRestrict(context, { enabled: true });
    expect(result).toMatchObject({ result: { record: { enabled: true } } });
    expect(sentWrites()).toEqual([['PATCH', { enabled: true }]]);
  }));
