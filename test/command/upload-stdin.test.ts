import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MediactlError } from '../../src/client/errors.ts';
import { withNextStep } from '../../src/client/upload/session/next-step.ts';
import type { RunDeps, UploadOptions } from '../../src/client/upload/session/upload-job.ts';
import { Spool } from '../../src/client/upload/sources/spool.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { type Fault, respondWith } from '../support/interposer.ts';
import { changeState, queryState } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const world = setUpUploader();
const spool = () => join(world.cli.home, 'state/spool');

describe('stdin', () => {
  const name = () => `piped ${basename(world.cli.home)}`;
  const pipe = (args: string[] = []) => {
    world.path = '-';
    return world.upload(['--name', name(), ...args], { stdin: world.bytes });
  };
  const refusedFor = (respond: Fault) => {
    world.fault = ({ method }) => (method === 'POST' ? respond : undefined);
  };

  it('is spooled first, and the spool is gone afterwards', async () => {
    const { code, record } = await pipe();
    expect(code).toBe(0);
    expect(record).toMatchObject({ path: '-', asset_name: name() });
    await world.expectUploaded(record);
    expect(readdirSync(spool())).toEqual([]);
  });

  it.each([
    ['a reset', { respond: (_response, request) => void request.socket.destroy() }, 10],
    ['a 500', respondWith(500, 'no'), 10],
    ['a gateway’s 503', respondWith(503, '<html></html>', { 'content-type': 'text/html' }), 10],
    ['a refused key', respondWith(401, { error: {} }), 4],
    ['full storage', respondWith(507, 'full'), 7],
    ['a rate limit past --max-wait', respondWith(429, {}, { 'retry-after': '9999' }), 9],
  ] satisfies [string, Fault, number][])('its only copy outlives %s at the creation', async (_what, respond, exit) => {
    refusedFor(respond);
    const { code, record } = await pipe(['--max-wait', '1m']);
    expect(code).toBe(exit);
    const environment = world.environment();
    const [pending] = await world.cli.json(['uploads', 'ls'], { environment });
    expect(pending).toMatchObject({ path: 'stdin', size_bytes: world.bytes.length });
    expect(record.error.hint).toContain(`mediactl uploads resume ${pending.id}`);
    world.fault = () => undefined;
    const [finished] = await world.cli.json(['uploads', 'resume', pending.id], { environment });
    await world.expectUploaded(finished);
    expect(finished.asset_name).toBe(name());
    expect(await world.findAssets(name())).toHaveLength(1);
    expect(readdirSync(spool())).toEqual([]);
  });

  it('its only copy outlives a second run that finds the upload held by another', async () => {
    refusedFor(respondWith(402, {}));
    await pipe();
    const { id, identity } = world.storedEntry();
    const database = await StateDatabase.open(world.stateDir);
    const store = new LocalUploadStore(database, process.pid);
    const held = new MediactlError('another process is uploading it', { code: 'upload_in_progress' });
    const deps = { store, spool: new Spool(world.stateDir) } as unknown as RunDeps;
    const [copy = ''] = readdirSync(spool());
    const job = { path: '-', workspace: '', identity };
    const outcome = { job, id, path: join(spool(), copy), requests: 0, durationMs: 0 };
    expect(await withNextStep(outcome, held, { force: false } as UploadOptions, deps)).toBe(held);
    await database.close();
    expect(world.unfinishedIds()).toEqual([id]);
    expect(readdirSync(spool())).toEqual([copy]);
  });

  it('whose creation is lost three times is kept, and uploads resume uploads it', async () => {
    refusedFor({ dropResponse: true });
    const { code, record } = await pipe();
    expect(code).toBe(10);
    world.fault = () => undefined;
    const [, id = ''] = /mediactl uploads resume (\w+)/.exec(record.error.hint) ?? [];
    const environment = world.environment();
    const [finished] = await world.cli.json(['uploads', 'resume', id], { environment });
    await world.expectUploaded(finished);
    expect(readdirSync(spool())).toEqual([]);
  });

  it('that was refused for good leaves no spool', async () => {
    refusedFor(respondWith(400, 'no'));
    expect((await pipe()).code).toBe(6);
    expect(readdirSync(spool())).toEqual([]);
    expect(world.unfinishedIds()).toEqual([]);
  });

  it('the same bytes again go on where they were: one asset, one spool', async () => {
    let patches = 0;
    world.fault = ({ method }) => (method === 'PATCH' && ++patches === 3 ? respondWith(402, {}) : undefined);
    expect((await pipe()).code).toBe(7);
    world.fault = () => undefined;
    const { record } = await pipe();
    expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
    await world.expectUploaded(record);
    expect(readdirSync(spool())).toEqual([]);
  });

  it('what a killed process had spooled so far is swept', async () => {
    expect((await world.upload()).code).toBe(0);
    mkdirSync(spool(), { recursive: true });
    const name = '0e7b3c52-0000-4000-8000-000000000000';
    const part = join(spool(), `${name}.part`);
    writeFileSync(part, 'half');
    const run = '0e7b3c52-0000-4000-8000-000000000001';
    writeFileSync(join(world.stateDir, 'runs', `${run}.lock`), '');
    const lock = "INSERT INTO uploads (id, state, path, run, pid) VALUES (?, 'planned', ?, ?, 4242)";
    changeState(world.stateDir, lock, name, part, run);
    expect((await world.upload(['--force'])).code).toBe(0);
    expect(readdirSync(spool())).toEqual([]);
    expect(readdirSync(join(world.stateDir, 'runs'))).toEqual([]);
    expect(queryState(world.stateDir, 'SELECT id FROM uploads WHERE run IS NOT NULL')).toEqual([]);
  });
});
