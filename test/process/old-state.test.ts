import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tryLock } from '../../src/client/lock.ts';
import { migrate } from '../../src/client/upload/store/migration.ts';
import { Cli } from '../support/cli.ts';
import { errorOf } from '../support/errors.ts';
import { type Fault, type InterposedRequest, Interposer, respondWith } from '../support/interposer.ts';
import { oldBytes, oldFiles, oldStdin, startOldService, writeOldMedia, writeOldState } from '../support/old-state.ts';
import type { TestSandbox } from '../support/sandbox.ts';
import { mediactlCommand, startProcess } from '../support/spawn.ts';
import { openDatabase } from '../support/sqlite.ts';
import { changeState, queryState, readEntries } from '../support/state-database.ts';

const acknowledged = 2 * 64 * 1024;
/** Ids in the fixture. */
const plannedId = '36e6a3f1bdfff50b';
const stdinId = '9104c96c3dd77a52';

// Data of the old service has what a strict one leaves out.
describe('the state folder of 5fb2bef', { tags: 'undocumented-fields' }, () => {
  let sandbox: TestSandbox;
  let line: Interposer;
  let fault: (seen: InterposedRequest) => Fault | undefined;
  let cli: Cli;
  let media: string;
  let state: string;
  let ids: Map<string, string>;

  beforeEach(async () => {
    sandbox = await startOldService();
    fault = () => undefined;
    line = await Interposer.start(sandbox.url, (seen) => fault(seen));
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
  /** Returns the unfinished upload of a file: as 5fb2bef left it, before today's program has run; undefined if none. */
  const oldEntry = (name: string) => oldEntries().find(({ realPath }) => realPath === join(media, name));
  const oldEntries = () => pageNames().map((each) => JSON.parse(readFileSync(join(state, 'uploads', each), 'utf8')));
  const pageNames = () => readdirSync(join(state, 'uploads')).sort();
  const entry = (name: string) => readEntries(state).find(({ realPath }) => realPath === join(media, name));
  const rows = (sql: string, ...values: string[]) => queryState(state, sql, ...values);
  const receipt = (name: string) =>
    rows("SELECT asset, verified FROM uploads WHERE state = 'done' AND path = ?", join(media, name))[0];
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
    expect(entry('intended.bin')).toBeUndefined();
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
    expect(rows("SELECT asset FROM uploads WHERE state = 'failed' AND guessed = 1").map(({ asset }) => asset)).toEqual([
      made,
    ]);
  });

  it('an open upload is continued at the acknowledged offset, and nothing before it is sent', async () => {
    const before = oldEntry('open.bin').session.assetUid;
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
    expect(entry('open.bin')).toBeUndefined();
    expect(receipt('open.bin')).toMatchObject({ asset: before, verified: 1 });
  });

  it('one that a killed process had locked is continued at the byte that the service holds', async () => {
    expect(rows('SELECT id FROM claims').map(({ id }) => id)).toEqual([ids.get('baf01ff57b8d1b0a')]);
    const held = acknowledged + 20_000; // not all of a chunk was acknowledged
    const { code, record, stderr } = await upload('ahead.bin');
    expect(code, stderr).toBe(0);
    expect(writes()).not.toContain('POST');
    expect(Math.min(...offsets())).toBe(held);
    expect(record).toMatchObject({ outcome: 'uploaded', resumed_from: held, verified: true });
    expect(stored(record.asset_uid).equals(oldBytes('ahead.bin'))).toBe(true);
    expect(rows('SELECT id FROM uploads WHERE run IS NOT NULL')).toEqual([]);
    expect(readdirSync(join(state, 'runs'))).toEqual([]);
  });

  it('an open upload is continued after its file moved', async () => {
    const before = oldEntry('open.bin').session.assetUid;
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
    const before = oldEntry('whole.bin').session.assetUid;
    const { code, record, stderr } = await upload('whole.bin');
    expect(code, stderr).toBe(0);
    expect(line.methods).toEqual(['GET']);
    expect(record).toMatchObject({ outcome: 'uploaded', asset_uid: before, bytes_sent: 0 });
    expect(entry('whole.bin')).toBeUndefined();
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
    const whole = oldEntry('whole.bin').session.assetUid;
    const { records, stderr } = await run(['uploads', 'gc', '--dry-run']);
    expect(JSON.stringify(records), stderr).toContain(orphan.asset);
    expect(rows("SELECT path FROM uploads WHERE state = 'replaced'").map(({ path }) => path)).toEqual([
      join(media, 'renewed.bin'),
    ]);
    expect((await run(['assets', 'get', '@last'])).records.uid).toBe(whole);
    expect((await run(['assets', 'get', whole.slice(0, 8)])).records.uid).toBe(whole);
  });

  describe('its migration', () => {
    const version = () => rows('PRAGMA user_version')[0].user_version;
    const tables = () =>
      rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name").map(
        ({ name }) => name,
      );
    /** Returns what 5fb2bef recorded: each row of each of its tables, and each page. */
    const oldRecords = () => {
      const all = oldTables.map((table) => [table, rows(`SELECT * FROM ${table} ORDER BY 1`)]);
      return { ...Object.fromEntries(all), pages: pageTexts() };
    };
    const oldTables = ['claims', 'folders', 'orphans', 'receipts', 'replaced', 'runs'];
    const pageTexts = () => pageNames().map((name) => readFileSync(join(state, 'uploads', name), 'utf8'));
    const backup = () => join(state, 'receipts.db.v1');
    /** Expects that every record of 5fb2bef is in the rows of today's tables. */
    const expectMigrated = (before: ReturnType<typeof oldRecords>) => {
      expect([version(), tables()]).toEqual([2, ['folders', 'runs', 'uploads']]);
      expect(readEntries(state).sort(byId)).toEqual(before.pages.map((text: string) => JSON.parse(text)).sort(byId));
      const done = `SELECT seq AS id, service, workspace, folder, path, size, mtime_ns, blake3, verified, asset, session,
        name, processing AS state, reason, at, imported FROM uploads WHERE state = 'done' ORDER BY seq`;
      expect(rows(done)).toEqual(before.receipts);
      const replaced = "SELECT service, workspace, folder, path, asset FROM uploads WHERE state = 'replaced'";
      expect(rows(replaced)).toEqual(before.replaced);
      const failed = "SELECT service, asset, name, path, at, guessed FROM uploads WHERE state = 'failed'";
      expect(rows(failed)).toEqual(before.orphans);
      for (const table of ['folders', 'runs']) expect(rows(`SELECT * FROM ${table} ORDER BY 1`)).toEqual(before[table]);
      const states =
        "SELECT state, json_extract(entry, '$.state') AS entry, asset FROM uploads WHERE entry IS NOT NULL";
      for (const row of rows(states)) {
        expect(row.state).toBe(row.entry);
        expect(row.asset === null).toBe(['planned', 'intended'].includes(row.state));
      }
    };
    const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id);

    it('makes a row of each record, on first use by any command', async () => {
      const before = oldRecords();
      expect(version()).toBe(1);
      expect((await run(['uploads', 'ls'])).code).toBe(0);
      expectMigrated(before);
      expect(rows('SELECT id FROM uploads WHERE run IS NOT NULL')).toEqual([]);
    });

    it('keeps what there was until a run has ended well', async () => {
      const before = oldRecords();
      const isKept = () => {
        const database = openDatabase(backup());
        for (const table of oldTables)
          expect(database.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()).toEqual(before[table]);
        database.close();
        expect(pageTexts()).toEqual(before.pages);
        expect(statSync(backup()).mode & 0o777).toBe(0o600);
      };
      await run(['uploads', 'ls']);
      isKept();
      fault = ({ method }) => (method === 'PATCH' ? respondWith(402, { error: {} }) : undefined);
      expect((await upload('open.bin')).code).toBe(7);
      isKept();
      fault = () => undefined;
      for (const name of ['killed.part', 'killed.lock']) writeFileSync(join(state, 'spool', name), ''); // of 5fb2bef
      expect((await upload('open.bin')).code).toBe(0);
      expect(readdirSync(join(state, 'spool')).sort()).toEqual([plannedId, stdinId].map((id) => ids.get(id)).sort());
      expect(readdirSync(state).filter((name) => /v1|migration|uploads/.test(name))).toEqual([]);
      expect(readEntries(state)).toHaveLength(before.pages.length - 1);
    });

    it('happens once: what is forgotten or done since does not come back while its page is kept', async () => {
      await run(['uploads', 'ls']);
      expect((await run(['uploads', 'forget', ids.get('b84f3a7a5e68b074') as string, '--yes'])).code).toBe(0);
      expect(pageNames()).toHaveLength(7);
      expect((await run(['uploads', 'ls'])).records).toHaveLength(6);
      expect((await upload('done.bin')).record).toMatchObject({ outcome: 'there' });
      expect((await run(['uploads', 'ls'])).records).toHaveLength(6);
    });

    it('of two commands at once is one', async () => {
      const before = oldRecords();
      const both = await Promise.all([run(['uploads', 'ls']), run(['uploads', 'ls', '--done'])]);
      expect(both.map(({ code, records }) => [code, records.length])).toEqual([
        [0, 7],
        [0, 6],
      ]);
      expectMigrated(before);
    });

    it('waits for the end of an older mediactl that is uploading', async () => {
      const before = oldRecords();
      const [{ run: owner }] = rows('SELECT run FROM claims');
      const lock = await tryLock(join(state, 'runs', `${owner}.lock`));
      const refused = errorOf(await cli.run(['uploads', 'ls', '--json']));
      expect(refused).toEqual({ code: 'state_locked', exit: 14, hint: expect.any(String) });
      expect([version(), oldRecords(), existsSync(backup())]).toEqual([1, before, false]);
      lock?.release();
      expect((await run(['uploads', 'ls'])).code).toBe(0);
      expectMigrated(before);
    });

    it('changes nothing if an older mediactl begins to upload while the copy is made', async () => {
      const before = oldRecords();
      const database = openDatabase(join(state, 'receipts.db'));
      const running = [false, true];
      const migrating = migrate(join(state, 'receipts.db'), database, async () => running.shift() === true);
      await expect(migrating).rejects.toMatchObject({ explanation: { code: 'state_locked' } });
      database.close();
      expect([running, version(), oldRecords()]).toEqual([[], 1, before]);
      expect((await run(['uploads', 'ls'])).code).toBe(0);
      expectMigrated(before);
    });

    it('is not done again if an older mediactl, which began meanwhile, has set the version back', async () => {
      const before = oldRecords();
      await run(['uploads', 'ls']);
      changeState(state, 'PRAGMA user_version = 1');
      expect((await run(['uploads', 'ls'])).code).toBe(0);
      expectMigrated(before);
    });

    it('that fails changes nothing, and is done by the next command', async () => {
      const before = oldRecords();
      changeState(state, 'CREATE INDEX unfinished ON folders (id)'); // the name of one of today's
      expect((await cli.run(['uploads', 'ls', '--json'])).code).toBe(14);
      expect([version(), tables(), oldRecords()]).toEqual([1, oldTables, before]);
      changeState(state, 'DROP INDEX unfinished');
      expect((await run(['uploads', 'ls'])).code).toBe(0);
      expectMigrated(before);
    });

    it('takes over a page that is damaged: it is listed, and its asset is named', async () => {
      const { id, session } = oldEntry('open.bin');
      const path = join(state, 'uploads', `${id}.json`);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.slice(0, text.indexOf('"sentTo"')));
      const { records } = await run(['uploads', 'ls']);
      expect(records).toHaveLength(7);
      expect(records).toContainEqual(
        expect.objectContaining({
          id,
          state: 'unreadable',
          asset_uid: session.assetUid,
          path: join(media, 'open.bin'),
        }),
      );
      expect(rows('SELECT state, asset FROM uploads WHERE id = ?', id)).toEqual([
        { state: 'intended', asset: session.assetUid },
      ]);
    });

    it('takes over pages without a database, and leaves what was set aside', async () => {
      for (const name of readdirSync(state).filter((each) => each.startsWith('receipts.'))) rmSync(join(state, name));
      const pages = pageTexts().map((text) => JSON.parse(text));
      writeFileSync(join(state, 'uploads', '0123456789abcdef.json.corrupt'), '{');
      expect((await run(['uploads', 'ls'])).records).toHaveLength(7);
      expect(readEntries(state).sort(byId)).toEqual(pages.sort(byId));
      expect(pageNames()).toHaveLength(8);
      expect((await upload('open.bin')).record).toMatchObject({ resumed_from: acknowledged });
      expect(pageNames()).toEqual(['0123456789abcdef.json.corrupt']);
    });

    it('that is killed changes nothing, whenever that is, and is done by the next command', {
      tags: 'strace',
    }, async () => {
      const before = oldRecords();
      const environment = { MEDIACTL_CONFIG_DIR: join(cli.home, 'config'), MEDIACTL_STATE_DIR: state };
      const list = (nth: number) => {
        const kill = ['-f', '-qq', '-o', '/dev/null', '-e', `inject=pwrite64:signal=SIGKILL:when=${nth}`];
        const command = [...kill, ...mediactlCommand, 'uploads', 'ls', '--json'];
        return startProcess('strace', command, environment).finished;
      };
      let kills = 0;
      const step = 5; // of about 50 writes
      for (let nth = 1; (await list(nth)).signal === 'SIGKILL'; nth += step) {
        kills++;
        if (version() === 1) expect(oldRecords()).toEqual(before);
        else expectMigrated(before);
        expect(pageTexts()).toEqual(before.pages);
      }
      expect(kills).toBeGreaterThan(5);
      expectMigrated(before);
    });
  });
});
