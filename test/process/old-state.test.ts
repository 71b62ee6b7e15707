import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { Interposer } from '../support/interposer.ts';
import { oldBytes, oldFiles, oldStdin, startOldService, writeOldMedia, writeOldState } from '../support/old-state.ts';
import { isStrict, type TestSandbox } from '../support/sandbox.ts';

const acknowledged = 2 * 64 * 1024;
/** Ids in the fixture. */
const plannedId = '36e6a3f1bdfff50b';
const stdinId = '9104c96c3dd77a52';

// Data of the old service has what a strict one leaves out.
describe.skipIf(isStrict)('the state folder of 5fb2bef', () => {
  let sandbox: TestSandbox;
  let line: Interposer;
  let cli: Cli;
  let media: string;
  let state: string;
  let ids: Map<string, string>;

  beforeEach(async () => {
    sandbox = await startOldService();
    line = await Interposer.start(sandbox.url);
    cli = new Cli({
      MEDIACTL_API_KEY: sandbox.key,
      MEDIACTL_BASE_URL: line.url,
      MEDIACTL_WORKSPACE: oldFiles.workspace,
    });
    media = writeOldMedia();
    ids = writeOldState(line.url, media, join(cli.home, 'state'));
    state = realpathSync(join(cli.home, 'state'));
  });
  afterEach(() => sandbox.end());

  const run = async (args: readonly string[]) => {
    const ran = await cli.run([...args, '--json']);
    return { ...ran, records: JSON.parse(ran.stdout || '[]') };
  };
  const upload = async (name: string, ...more: string[]) => {
    const ran = await run(['upload', join(media, name), '--chunk-size', '64KiB', ...more]);
    return { ...ran, record: ran.records[0] };
  };
  const resume = async (oldId: string) => {
    const ran = await run(['uploads', 'resume', ids.get(oldId) as string]);
    return { ...ran, record: ran.records[0] };
  };
  const isWrite = (method: string) => method === 'POST' || method === 'PATCH';
  const writes = () => line.methods.filter(isWrite);
  const offsets = () =>
    line.requests.filter(({ method }) => method === 'PATCH').map(({ headers }) => Number(headers['upload-offset']));
  const stored = (uid: string) => readFileSync(join(sandbox.dataDir, 'media', uid, 'source'));
  const page = (name: string): { assetUid?: string; path: string } | undefined => {
    for (const each of readdirSync(join(state, 'uploads')).filter((file) => file.endsWith('.json'))) {
      const entry = JSON.parse(readFileSync(join(state, 'uploads', each), 'utf8'));
      if (entry.realPath === join(media, name)) return { path: each, assetUid: entry.session?.assetUid };
    }
    return undefined;
  };
  // biome-ignore lint/suspicious/noExplicitAny: rows of any table
  const rows = (sql: string, ...values: string[]): any[] => {
    const database = new Database(join(state, 'receipts.db'), { readonly: true });
    try {
      return database.prepare(sql).all(...values);
    } finally {
      database.close();
    }
  };
  const receipt = (name: string) => rows('SELECT asset, verified FROM receipts WHERE path = ?', join(media, name))[0];
  const assetsNamed = async (name: string): Promise<string[]> => {
    const { records } = await run(['assets', 'ls', '--all']);
    return records.filter((asset: { name: string }) => asset.name === name).map(({ uid }: { uid: string }) => uid);
  };

  it('is listed: each upload with its state, each receipt', async () => {
    const { code, records } = await run(['uploads', 'ls']);
    expect(code).toBe(0);
    const listed = Object.fromEntries(
      records.map((each: { id: string; state: string; offset_bytes: number }) => [
        each.id,
        [each.state, each.offset_bytes],
      ]),
    );
    const now = (old: string) => ids.get(old) as string;
    expect(listed).toEqual({
      [now(plannedId)]: ['not begun', 0],
      [now(stdinId)]: ['resumable', acknowledged],
      [now('b84f3a7a5e68b074')]: ['creation unknown', 0],
      [now('e426dd4aca05298b')]: ['creation unknown', 0],
      [now('ec4f57e668c84677')]: ['resumable', acknowledged],
      [now('baf01ff57b8d1b0a')]: ['resumable', acknowledged],
      [now('487fe32e60ba8907')]: ['uploaded', 6000],
    });
    const done = await run(['uploads', 'ls', '--done']);
    expect(done.records.map(({ path }: { path: string }) => path.slice(media.length + 1))).toEqual([
      ...['done.bin', 'renewed.bin', 'tree/two.bin', 'tree/day 1/one.bin'],
      ...['failed.bin', 'again.bin'],
    ]);
    expect(line.requests).toEqual([]);
  });

  it('a planned upload begins: stdin, from what was kept of it', async () => {
    const { code, record, stderr } = await resume(plannedId);
    expect(code, stderr).toBe(0);
    expect(writes()).toEqual(['POST', 'PATCH']);
    expect(offsets()).toEqual([0]);
    expect(record).toMatchObject({ outcome: 'uploaded', name: 'planned.bin', verified: true });
    expect(stored(record.asset_uid).equals(oldStdin(plannedId))).toBe(true);
    expect(existsSync(join(state, 'spool', ids.get(plannedId) as string))).toBe(false);
  });

  it('a part of stdin is continued at the acknowledged offset', async () => {
    const { code, record, stderr } = await resume(stdinId);
    expect(code, stderr).toBe(0);
    expect(writes()).not.toContain('POST');
    expect(Math.min(...offsets())).toBe(acknowledged);
    expect(record).toMatchObject({ resumed_from: acknowledged, verified: true });
    expect(stored(record.asset_uid).equals(oldStdin(stdinId))).toBe(true);
  });

  it('an intended upload is looked up: what made no asset makes one', async () => {
    expect(await assetsNamed('intended.bin')).toEqual([]);
    line.requests.length = 0;
    const { code, record, stderr } = await upload('intended.bin');
    expect(code, stderr).toBe(0);
    expect(line.methods).toEqual(['GET', 'POST', 'PATCH']);
    expect(record).toMatchObject({ outcome: 'uploaded', verified: true });
    expect(await assetsNamed('intended.bin')).toEqual([record.asset_uid]);
    expect(page('intended.bin')).toBeUndefined();
  });

  it('an intended upload whose asset is there is asked about: none is made without --yes', async () => {
    const [made, ...others] = await assetsNamed('lost.bin');
    expect(others).toEqual([]);
    line.requests.length = 0;
    const { code, record } = await upload('lost.bin');
    expect(code).toBe(2);
    expect(record.error).toMatchObject({
      code: 'creation_unknown',
      details: { asset_uids: [made] },
    });
    expect(line.methods).toEqual(['GET']);
    expect(await assetsNamed('lost.bin')).toEqual([made]);
    const agreed = await upload('lost.bin', '--yes');
    expect(agreed.code, agreed.stderr).toBe(0);
    expect(new Set(await assetsNamed('lost.bin'))).toEqual(new Set([made, agreed.record.asset_uid]));
    expect(rows('SELECT asset FROM orphans WHERE guessed = 1').map(({ asset }) => asset)).toEqual([made]);
  });

  it('an open upload is continued at the acknowledged offset, and nothing before it is sent', async () => {
    const before = page('open.bin')?.assetUid;
    const { code, record, stderr } = await upload('open.bin');
    expect(code, stderr).toBe(0);
    expect(line.methods[0]).toBe('HEAD');
    expect(writes()).not.toContain('POST');
    expect(Math.min(...offsets())).toBe(acknowledged);
    const bytes = oldBytes('open.bin');
    expect(record).toMatchObject({
      outcome: 'uploaded',
      asset_uid: before,
      verified: true,
      resumed_from: acknowledged,
      bytes_sent: bytes.length - acknowledged,
    });
    expect(stored(record.asset_uid).equals(bytes)).toBe(true);
    expect(page('open.bin')).toBeUndefined();
    expect(receipt('open.bin')).toMatchObject({ asset: before, verified: 1 });
  });

  it('one that a killed process had claimed is continued at the byte that the service holds', async () => {
    expect(rows('SELECT id FROM claims').map(({ id }) => id)).toEqual([ids.get('baf01ff57b8d1b0a')]);
    const held = acknowledged + 20_000; // not all of a chunk was acknowledged
    const { code, record, stderr } = await upload('ahead.bin');
    expect(code, stderr).toBe(0);
    expect(writes()).not.toContain('POST');
    expect(Math.min(...offsets())).toBe(held);
    expect(record).toMatchObject({ outcome: 'uploaded', resumed_from: held, verified: true });
    expect(stored(record.asset_uid).equals(oldBytes('ahead.bin'))).toBe(true);
    expect(rows('SELECT id FROM claims')).toEqual([]);
    expect(readdirSync(join(state, 'runs'))).toEqual([]);
  });

  it('an open upload is continued after its file moved', async () => {
    const before = page('open.bin')?.assetUid;
    mkdirSync(join(media, 'moved'));
    renameSync(join(media, 'open.bin'), join(media, 'moved/open.bin'));
    const { code, record, stderr } = await upload('moved/open.bin');
    expect(code, stderr).toBe(0);
    expect(writes()).not.toContain('POST');
    expect(Math.min(...offsets())).toBe(acknowledged);
    expect(record).toMatchObject({ asset_uid: before, resumed_from: acknowledged, verified: true });
  });

  it('uploads resume --all finishes all of them, and creates sessions only for those without one', async () => {
    const { code, records, stderr } = await run(['uploads', 'resume', '--all']);
    expect(code, stderr).toBe(0);
    const sent = records.map((each: { name: string; outcome: string; bytes_sent: number }) => [
      ...[each.name, each.outcome, each.bytes_sent],
    ]);
    const left = oldBytes('open.bin').length - acknowledged;
    expect(sent.sort()).toEqual([
      ['ahead.bin', 'uploaded', left - 20_000],
      ['intended.bin', 'uploaded', 4000],
      ['lost.bin', 'uploaded', 4500],
      ['open.bin', 'uploaded', left],
      ['planned.bin', 'uploaded', 5000],
      ['stdin.bin', 'uploaded', left],
      ['whole.bin', 'uploaded', 0],
    ]);
    expect(writes().filter((method) => method === 'POST')).toHaveLength(3);
    expect((await run(['uploads', 'ls'])).records).toEqual([]);
    expect(readdirSync(join(state, 'spool')).filter((name) => !name.includes('.'))).toEqual([]);
  });

  it('a whole upload gets its receipt, and nothing is sent', async () => {
    const before = page('whole.bin')?.assetUid;
    const { code, record, stderr } = await upload('whole.bin');
    expect(code, stderr).toBe(0);
    expect(line.methods).toEqual(['GET']);
    expect(record).toMatchObject({ outcome: 'uploaded', asset_uid: before, bytes_sent: 0 });
    expect(page('whole.bin')).toBeUndefined();
    expect(receipt('whole.bin')).toMatchObject({ asset: before, verified: 1 });
    line.requests.length = 0;
    expect((await upload('whole.bin')).record).toMatchObject({ outcome: 'there' });
    expect(line.requests).toEqual([]);
  });

  it('files that are done are skipped without a request', async () => {
    const names = ['done.bin', 'renewed.bin', 'failed.bin', 'again.bin', 'tree'];
    const before = rows('SELECT path, asset FROM receipts');
    const { code, records, stderr } = await run([...['upload', '-r'], ...names.map((name) => join(media, name))]);
    expect(code, stderr).toBe(0);
    expect(line.requests).toEqual([]);
    const reported = records.map((each: { path: string; outcome: string; asset_uid: string }) => [
      ...[each.path, each.outcome, each.asset_uid],
    ]);
    expect(reported.sort()).toEqual(before.map(({ path, asset }) => [path, 'there', asset]).sort());
    expect(reported).toHaveLength(6);
  });

  it('its orphan is found, what replaced an asset is known, and so are short uids and @last', async () => {
    const [orphan] = rows('SELECT asset FROM orphans');
    const { records, stderr } = await run(['uploads', 'gc', '--dry-run']);
    expect(JSON.stringify(records), stderr).toContain(orphan.asset);
    expect(rows('SELECT path FROM replaced').map(({ path }) => path)).toEqual([join(media, 'renewed.bin')]);
    const whole = page('whole.bin')?.assetUid as string;
    expect((await run(['assets', 'get', '@last'])).records.uid).toBe(whole);
    expect((await run(['assets', 'get', whole.slice(0, 8)])).records.uid).toBe(whole);
  });
});
