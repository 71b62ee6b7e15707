import { describe, expect, it, onTestFinished } from 'vitest';
import { CodedError, usageError } from '../../src/client/errors.ts';
import { type SelectionPorts, selectAssets } from '../../src/client/library/select-assets.ts';
import type { FoundBy, WorkspaceChoice } from '../../src/client/library/workspace-in-use.ts';
import { LocalState } from '../../src/client/open/local-state.ts';
import { openLibrary } from '../../src/client/open/open-library.ts';
import { isUid } from '../../src/contract/uid.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { testKey } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Whose an asset is, in each combination of what the service shows of workspaces, what a record shows, and how the asset was found. */

const uidOf = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const [main, side, own, foreign] = [1, 2, 3, 4].map(uidOf) as [string, string, string, string];

type WorkspaceSituation = {
  /** The list of workspaces; undefined if the key may not list them. */
  workspaces: object[] | undefined;
  configured?: string;
  /** True if the key sees the assets of one workspace only. */
  seesOne?: boolean;
};

const both = [
  { uid: main, name: 'Main' },
  { uid: side, name: 'Side' },
];

const situations = {
  'primary shown': { workspaces: [{ ...both[0], is_primary: true }, both[1] as object] },
  'primary not shown, none chosen': { workspaces: both },
  'primary not shown, one chosen': { workspaces: both, configured: main },
  'list empty': { workspaces: [] },
  'list refused, one chosen': { workspaces: undefined, configured: main },
  'one account of two on the host': { workspaces: [both[0] as object], seesOne: true },
} satisfies Record<string, WorkspaceSituation>;

type SituationName = keyof typeof situations;

const shown = {
  'by uid': (uid: string) => ({ workspace_uid: uid }),
  'by name': (uid: string) => ({ workspace: uid === main ? 'Main' : 'Side' }),
  'not at all': () => ({}),
};

const ways = {
  name: { ids: ['clip.mp4'] },
  path: { ids: ['/clip.mp4'] },
  glob: { ids: ['/clip*'] },
  filter: { ids: [], filters: { search: 'clip' } },
  uid: { ids: [foreign] },
};

/** What is selected: assets, or `asked` if a user is asked, or `refused` if nothing can be found there. */
type Answer = 'own' | 'both' | 'foreign' | 'asked' | 'refused';

/** Answers for a name and a filter, by what the record shows. */
const inLists: Record<SituationName, Record<keyof typeof shown, Answer>> = {
  'primary shown': { 'by uid': 'own', 'by name': 'own', 'not at all': 'asked' },
  'primary not shown, none chosen': { 'by uid': 'asked', 'by name': 'asked', 'not at all': 'asked' },
  'primary not shown, one chosen': { 'by uid': 'own', 'by name': 'own', 'not at all': 'asked' },
  'list empty': { 'by uid': 'both', 'by name': 'both', 'not at all': 'both' },
  'list refused, one chosen': { 'by uid': 'own', 'by name': 'asked', 'not at all': 'asked' },
  'one account of two on the host': { 'by uid': 'own', 'by name': 'own', 'not at all': 'own' },
};

/** Answers for a path and a glob, whatever the record shows: they work in a workspace that is known to be primary. */
const inFolders: Record<SituationName, Answer> = {
  'primary shown': 'own',
  'primary not shown, none chosen': 'refused',
  'primary not shown, one chosen': 'refused',
  'list empty': 'refused',
  'list refused, one chosen': 'refused',
  'one account of two on the host': 'own',
};

const expectedOf = (situation: SituationName, record: keyof typeof shown, way: keyof typeof ways): Answer => {
  if (way === 'uid') return 'foreign';
  return way === 'path' || way === 'glob' ? inFolders[situation] : inLists[situation][record];
};

async function open(
  { workspaces, configured, seesOne = false }: WorkspaceSituation,
  fieldsOf: (workspace: string) => object,
) {
  const record = (uid: string, workspace: string) => ({ uid, name: 'clip.mp4', parent: null, ...fieldsOf(workspace) });
  const assets = [record(own, main), ...(seesOne ? [] : [record(foreign, side)])];
  const server = await startRecordingServer(({ path, query }) => {
    if (path.endsWith('/folders/')) return { body: [] };
    if (path.endsWith('/workspaces/'))
      return workspaces ? { body: { items: workspaces, count: workspaces.length } } : { status: 403 };
    const asset = assets.find(({ uid }) => path.endsWith(`/${uid}/`));
    if (asset) return { body: asset };
    const { parent, search = '' } = query;
    const listed = assets.filter(({ uid, name }) => name.includes(search) && (parent === undefined || uid === own));
    return { body: { items: query.offset === '0' ? listed : [], count: listed.length } };
  });
  const signal = new AbortController().signal;
  const directory = temporaryFolder();
  const state = new LocalState({ directory, clock: systemClock, signal, warn: () => {}, pid: process.pid });
  const choice: WorkspaceChoice = {
    ...{ configured, primary: undefined, wasPrimary: false },
    selectByName: async (all) => all[0] as { uid: string },
    selectAny: () => {
      throw usageError('no workspace');
    },
    notPrimary: () => usageError('not primary'),
  };
  const opened = openLibrary(
    { baseUrl: new URL(server.url), apiKey: testKey },
    {
      ...{ clock: systemClock, userAgent: 'test', requestTimeoutMs: 30_000, maxWaitMs: 1000, signal, state },
      ...{ keepsHistory: false, profile: null, proxy: undefined, onNotice: () => {} },
      ports: { workspaceChoice: async () => choice, onChangeNotice: () => {}, onGap: () => {} },
    },
  );
  onTestFinished(async () => {
    await opened.api.transport.close();
    await state.close();
  });
  return { ...opened, requests: server.requests, assets };
}

const asked = new Error('asked');

const ports: SelectionPorts = {
  expand: async () => undefined,
  choose: async (_, matches) => {
    const [only, another] = matches;
    if (!only || another) throw usageError('ambiguous');
    return only;
  },
  chooseAny: async () => {
    throw usageError('no id');
  },
  readIds: async () => [],
  missing: ({ id }) => new CodedError(`no ${id}`, { code: 'not_found' }),
  onUnknown: async () => {
    throw asked;
  },
};

describe.each(Object.keys(situations) as SituationName[])('%s', (situation) => {
  describe.each(Object.keys(shown) as (keyof typeof shown)[])('the record shows the workspace %s', (record) => {
    it.each(Object.keys(ways) as (keyof typeof ways)[])('selects for a change what is in it by %s', async (way) => {
      const { library } = await open(situations[situation], shown[record]);
      const request = { collection: 'assets', purpose: 'change', ...ways[way] } as const;
      const anyOf: SelectionPorts = { ...ports, choose: async (_, [first]) => first as { uid: string } };
      const selected = await selectAssets(library, request, way === 'name' ? anyOf : ports).then(
        ({ assets }) => assets.map(({ uid }) => uid),
        (error: unknown) => (error === asked ? 'asked' : 'refused'),
      );
      const uids = { own: [own], foreign: [foreign], both: way === 'name' ? [own] : [own, foreign] };
      const expected = expectedOf(situation, record, way);
      expect(selected).toEqual(expected === 'asked' || expected === 'refused' ? expected : uids[expected]);
    });

    it('takes the row of a table as it was exported, unless the record shows another workspace', async () => {
      const { library, assets } = await open(situations[situation], shown[record]);
      const classify = async (foundBy: FoundBy) => {
        const signal = new AbortController().signal;
        const ownFolders = async () => new Set();
        const options = { signal, certainty: 'sure', foundBy, ownFolders } as const;
        return (await library.workspaceInUse.classify(assets.slice(0, 1), options)).own.length;
      };
      expect(await classify('row')).toBe(1);
      const answer = inLists[situation][record];
      expect(await classify('otherRow')).toBe(answer === 'own' && record === 'by uid' ? 1 : 0);
    });
  });
});

it('a read of a name sends no request for workspaces that were seen within a day, and one more otherwise', async () => {
  const { library, requests } = await open(situations['one account of two on the host'], shown['not at all']);
  const request = { collection: 'assets', purpose: 'read', ids: ['clip.mp4'] } as const;
  await selectAssets(library, request, ports);
  const first = requests.map(({ path }) => path.replace(/.*\/v1/, ''));
  await selectAssets(library, request, ports);
  const second = requests.slice(first.length).map(({ path }) => path.replace(/.*\/v1/, ''));
  expect(first.filter((path) => path === '/workspaces/')).toHaveLength(1);
  expect(second.filter((path) => !path.startsWith('/assets/'))).toEqual([]);
});

it('text that is the name of no workspace is not known, and no other workspace', async () => {
  const { library } = await open(situations['primary shown'], () => ({ workspace: 'Reel 7' }));
  const request = { collection: 'assets', purpose: 'change', ids: [], filters: { search: 'clip' } } as const;
  await expect(selectAssets(library, request, ports)).rejects.toBe(asked);
});

it.each([
  ['workspace_id', { workspace_id: main }],
  ['workspace with an id', { workspace: { id: main } }],
  ['workspaces', { workspaces: [main] }],
  ['workspace_name', { workspace_name: 'Main' }],
  ['workspace in another case of its uid', { workspace_uid: main.toUpperCase() }],
])('reads the workspace from %s', async (_field, fields) => {
  const { library } = await open(situations['primary shown'], () => fields);
  const request = { collection: 'assets', purpose: 'change', ids: [], filters: { search: 'clip' } } as const;
  const { assets } = await selectAssets(library, request, ports);
  expect(assets.every(({ uid }) => isUid(uid)) && assets.length).toBe(2);
});
