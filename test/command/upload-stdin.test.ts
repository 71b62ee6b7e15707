import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { defaultSettings } from '../../src/client/upload/decide/upload-settings.ts';
import { createOutcome } from '../../src/client/upload/session/file-outcome.ts';
import { withNextStep } from '../../src/client/upload/session/next-step.ts';
import type { SessionPorts } from '../../src/client/upload/session/session-ports.ts';
import { Spool } from '../../src/client/upload/sources/spool.ts';
import { fileAt } from '../../src/client/upload/sources/upload-file.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { type Fault, respondWith } from '../support/fault-proxy.ts';
import { changeState, queryState } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const spoolFolder = () => join(setup.cli.home, 'state/spool');

describe('stdin', () => {
  const name = () => `piped ${basename(setup.cli.home)}`;
  const uploadStdin = (args: string[] = []) => {
    setup.path = '-';
    return setup.upload(['--name', name(), ...args], { stdin: setup.bytes });
  };
  const failCreation = (respond: Fault) => {
    setup.fault = ({ method }) => (method === 'POST' ? respond : undefined);
  };

  it('upload copies stdin to disk and deletes the copy after the upload', async () => {
    const { code, record } = await uploadStdin();
    expect(code).toBe(0);
    expect(record).toMatchObject({ path: '-', asset_name: name() });
    await setup.expectUploaded(record);
    expect(readdirSync(spoolFolder())).toEqual([]);
  });

  it.each([
    ['a reset', { respond: (_response, request) => void request.socket.destroy() }, 10],
    ['a 500', respondWith(500, 'no'), 10],
    ['a gateway’s 503', respondWith(503, '<html></html>', { 'content-type': 'text/html' }), 10],
    ['a refused key', respondWith(401, { error: {} }), 4],
    ['full storage', respondWith(507, 'full'), 7],
    ['a rate limit past --max-wait', respondWith(429, {}, { 'retry-after': '9999' }), 9],
  ] satisfies [string, Fault, number][])(
    'upload keeps its copy of stdin after %s at the creation, and uploads resume uploads it',
    async (_what, respond, exit) => {
      failCreation(respond);
      const { code, record } = await uploadStdin(['--max-wait', '1m']);
      expect(code).toBe(exit);
      const environment = setup.environment();
      const [pending] = await setup.cli.json(['uploads', 'ls'], { environment });
      expect(pending).toMatchObject({ path: 'stdin', size_bytes: setup.bytes.length });
      expect(record.error.hint).toContain(`mediactl uploads resume ${pending.id}`);
      setup.fault = () => undefined;
      const [finished] = await setup.cli.json(['uploads', 'resume', pending.id], { environment });
      await setup.expectUploaded(finished);
      expect(finished.asset_name).toBe(name());
      expect(await setup.findAssets(name())).toHaveLength(1);
      expect(readdirSync(spoolFolder())).toEqual([]);
    },
  );

  it('upload keeps its copy of stdin if another process is uploading it', async () => {
    failCreation(respondWith(402, {}));
    await uploadStdin();
    const { id, identity } = setup.storedEntry();
    const database = await StateDatabase.open(setup.stateDir);
    const store = new LocalUploadStore(database, process.pid);
    const inProgressError = new CodedError('another process is uploading it', { code: 'upload_in_progress' });
    const deps = { store, spool: new Spool(setup.stateDir) } as unknown as SessionPorts;
    const [copyName = ''] = readdirSync(spoolFolder());
    const stream = { spoolPath: join(spoolFolder(), copyName), identity };
    const outcome = createOutcome({ ...fileAt('-'), stream }, { id });
    expect(await withNextStep(outcome, inProgressError, defaultSettings, deps)).toBe(inProgressError);
    await database.close();
    expect(setup.unfinishedIds()).toEqual([id]);
    expect(readdirSync(spoolFolder())).toEqual([copyName]);
  });

  it('upload keeps its copy of stdin after three lost responses, and uploads resume uploads it', async () => {
    failCreation({ dropResponse: true });
    const { code, record } = await uploadStdin();
    expect(code).toBe(10);
    setup.fault = () => undefined;
    const [, id = ''] = /mediactl uploads resume (\w+)/.exec(record.error.hint) ?? [];
    const environment = setup.environment();
    const [finished] = await setup.cli.json(['uploads', 'resume', id], { environment });
    await setup.expectUploaded(finished);
    expect(finished.path).toBe('stdin');
    expect(readdirSync(spoolFolder())).toEqual([]);
  });

  it('upload deletes its copy of stdin if the service rejects the upload with 400', async () => {
    failCreation(respondWith(400, 'no'));
    expect((await uploadStdin()).code).toBe(6);
    expect(readdirSync(spoolFolder())).toEqual([]);
    expect(setup.unfinishedIds()).toEqual([]);
  });

  it('upload resumes at the acknowledged offset if stdin has the same bytes again', async () => {
    let patches = 0;
    setup.fault = ({ method }) => (method === 'PATCH' && ++patches === 3 ? respondWith(402, {}) : undefined);
    expect((await uploadStdin()).code).toBe(7);
    setup.fault = () => undefined;
    const { record } = await uploadStdin();
    expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
    await setup.expectUploaded(record);
    expect(readdirSync(spoolFolder())).toEqual([]);
  });

  it('upload exits with 130 and deletes its partial copy if it is interrupted while it waits for more of stdin', async () => {
    const abort = new AbortController();
    const stdin = new PassThrough();
    setup.path = '-';
    const upload = setup.upload([], { stdin, signal: abort.signal });
    stdin.write(setup.bytes);
    const partialCopies = () => (existsSync(spoolFolder()) ? readdirSync(spoolFolder()) : []);
    await expect.poll(partialCopies).toEqual([expect.stringMatching(/\.part$/)]);
    abort.abort(new CodedError('interrupted', { code: 'interrupted' }));
    expect((await upload).code).toBe(130);
    expect(readdirSync(spoolFolder())).toEqual([]);
  });

  it('upload of stdin with the same bytes and name writes a new description to its asset', async () => {
    const { record } = await uploadStdin(['--description', 'quiet']);
    const again = await uploadStdin(['--description', 'very quiet']);
    expect(again.record).toMatchObject({ outcome: 'updated', asset_uid: record.asset_uid });
    const [asset] = await setup.cli.json(['get', record.asset_uid], { environment: setup.environment() });
    expect(asset.description).toBe('very quiet');
  });

  it('upload deletes the partial copy of stdin that a killed process left', async () => {
    expect((await setup.upload()).code).toBe(0);
    mkdirSync(spoolFolder(), { recursive: true });
    const name = '0e7b3c52-0000-4000-8000-000000000000';
    const partialCopy = join(spoolFolder(), `${name}.part`);
    writeFileSync(partialCopy, 'half');
    const killedProcess = '0e7b3c52-0000-4000-8000-000000000001';
    writeFileSync(join(setup.stateDir, 'runs', `${killedProcess}.lock`), '');
    const insertLock = "INSERT INTO uploads (id, state, path, process, pid) VALUES (?, 'planned', ?, ?, 4242)";
    changeState(setup.stateDir, insertLock, name, partialCopy, killedProcess);
    expect((await setup.upload(['--existing', 'upload'])).code).toBe(0);
    expect(readdirSync(spoolFolder())).toEqual([]);
    expect(readdirSync(join(setup.stateDir, 'runs'))).toEqual([]);
    expect(queryState(setup.stateDir, 'SELECT id FROM uploads WHERE process IS NOT NULL')).toEqual([]);
  });
});

describe('two streams with the same content', () => {
  const upload = async (name: string, description: string, ...args: string[]) => {
    const given = ['--name', name, '--description', description, ...args];
    const { code, stdout } = await cli.run(['upload', '-', '/S', '--create-folders', ...given, '--json'], {
      stdin: 'nothing changed',
    });
    return [code, JSON.parse(stdout)[0].outcome];
  };
  const assets = () => service.completeAssets.map(({ name, fields }) => [name, fields.description]);
  let service: FakeService;
  let cli: Cli;
  beforeEach(async () => {
    service = await FakeService.start();
    cli = new Cli(service.environment);
    expect(await upload('monday.txt', 'quiet')).toEqual([0, 'uploaded']);
  });

  it('a stream under another name leaves the asset of the first as it is, and says that it is a duplicate', async () => {
    expect(await upload('tuesday.txt', 'quiet, too')).toEqual([11, 'duplicate']);
    expect(assets()).toEqual([['monday.txt', 'quiet']]);
  });

  it('upload --existing name skips a stream whose name the folder has, whatever its content', async () => {
    const args = ['upload', '-', '/S', '--name', 'monday.txt', '--existing', 'name', '--json'];
    for (const stdin of ['other content', 'nothing changeD']) {
      const { code, stdout } = await cli.run(args, { stdin });
      expect([code, JSON.parse(stdout)[0].outcome]).toEqual([0, 'exists']);
    }
    expect(assets()).toEqual([['monday.txt', 'quiet']]);
  });

  it('upload --existing file gives a stream under another name an asset of its own', async () => {
    expect(await upload('tuesday.txt', 'quiet, too', '--existing', 'file')).toEqual([0, 'uploaded']);
    expect(assets()).toEqual([
      ['monday.txt', 'quiet'],
      ['tuesday.txt', 'quiet, too'],
    ]);
  });
});
