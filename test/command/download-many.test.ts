import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { numberedUid } from '../support/fake-library.ts';
import { FakeService, type MediaResponder } from '../support/fake-service.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { fixturePath, forSandboxMode, isStrict } from '../support/sandbox.ts';
import { SmallDisk } from '../support/small-disk.ts';

const { setup, account } = setUpCli();

let assetUids: string[];
beforeAll(async () => {
  const cli = new Cli(account());
  assetUids = [];
  for (const name of ['tone.mp3', 'still.jpg', 'tone.mp3'])
    assetUids.push((await cli.json(['upload', fixturePath(name), '--existing', 'upload']))[0].asset_uid);
  await cli.json(['assets', 'wait', ...assetUids]);
});

it('a full disk ends a download of many files; the others are not attempted, and are saved by the next run', {
  tags: 'root-mount',
}, async () => {
  const names = Array.from({ length: 40 }, (_, n) => `photo ${n}`);
  const assets = names.map((name, n) => ({ uid: numberedUid(n), name, type: 'image', status: 'ready' }));
  const playback = { type: 'image', streams: {}, source: { url: 'HERE/media/a.jpg' } };
  let requests = 0;
  const media: MediaResponder = (response) => {
    requests++;
    response.setHeader('content-type', 'image/jpeg').end('some bytes');
  };
  const service = await FakeService.start({ assets, playback, media });
  const cli = new Cli(service.environment);
  const disk = new SmallDisk();
  const save = () => cli.run(['download', ...assets.map(({ uid }) => uid), '-d', disk.path, '--json', '--yes']);
  disk.fill();
  const full = await save();
  expect([full.code, full.stderr]).toEqual([11, expect.stringContaining('not attempted')]);
  expect(requests).toBeLessThan(20);
  disk.free();
  expect((await save()).code).toBe(0);
  expect(readdirSync(disk.path)).toHaveLength(40);
});

describe('download of several assets', () => {
  it('download creates the directory of -d, saves each asset in it and prints a record for each; both have the mode of the umask', async () => {
    const directory = join(setup.cli.home, 'all');
    const saved = await setup.cli.json(['download', ...assetUids.slice(0, 2), '-d', directory]);
    expect(saved).toMatchObject([
      { asset_uid: assetUids[0], outcome: 'downloaded', error: null },
      { asset_uid: assetUids[1], outcome: 'downloaded', error: null },
    ]);
    expect(readFileSync(saved[0].path).equals(readFileSync(fixturePath('tone.mp3')))).toBe(true);
    expect(statSync(saved[1].path).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(statSync(directory).mode & 0o777).toBe(0o777 & ~process.umask());
  });

  it('download accepts uids from stdin and filters, and skips assets that it has already saved', async () => {
    const directory = join(setup.cli.home, 'all');
    const records = await setup.cli.json(['download', '-', '-d', directory], {
      stdin: assetUids.slice(0, 2).join('\n'),
    });
    expect(records.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['downloaded', 'downloaded']);
    const secondRun = await setup.cli.json(['download', '-', '-d', directory], {
      stdin: assetUids.slice(0, 2).join('\n'),
    });
    expect(secondRun.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['skipped', 'skipped']);
    const searchResults = await setup.cli.json(['download', '--search', 'tone', '-d', directory, '--yes']);
    expect(searchResults.every(({ outcome }: { outcome: string }) => outcome === 'downloaded')).toBe(true);
    const again = await setup.cli.json(['download', '--search', 'tone', directory]); // a directory that exists
    expect(again.every(({ outcome }: { outcome: string }) => outcome === 'skipped')).toBe(true);
  });

  it.skipIf(isStrict)(
    'download of a glob keeps the folders below its fixed part, so that equal names do not collide',
    async () => {
      const [localTree, directory] = [join(setup.cli.home, 'tree'), join(setup.cli.home, 'mirrored')];
      for (const day of ['day 1', 'day 2']) {
        mkdirSync(join(localTree, day), { recursive: true });
        writeFileSync(join(localTree, day, 'notes.md'), `# ${day}`);
      }
      writeFileSync(join(localTree, 'top.md'), '# top');
      expect((await setup.cli.run(['upload', localTree, '/Mirror', '--create-folders', '--wait'])).code).toBe(0);
      await setup.cli.json(['download', '/Mirror/**', '-d', directory]);
      const paths = ['day 1/notes.md', 'day 2/notes.md', 'top.md'];
      expect(paths.map((path) => readFileSync(join(directory, path), 'utf8'))).toEqual(['# day 1', '# day 2', '# top']);
      const secondRun = await setup.cli.json(['download', '/Mirror/**', '-d', directory]);
      expect(secondRun.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['skipped', 'skipped', 'skipped']);
    },
  );

  it.skipIf(isStrict)(
    'download saves a title with a dot with the extension of its file, by uid, by name and by a glob, whose records show no file',
    async () => {
      const directory = join(setup.cli.home, 'takes');
      const upload = ['upload', fixturePath('tone.mp3'), '--existing', 'upload', '--wait', '--name'];
      const [{ asset_uid }] = await setup.cli.json([...upload, 'Take 1.5', '/Takes', '--create-folders']);
      await setup.cli.json([...upload, 'Interview with Dr.Who', '/Takes']);
      for (const id of [asset_uid, 'Take 1.5', '/Takes/Take 1.5', '/Takes/Take*', '/Takes/*', '/Takes/*']) {
        const saved = await setup.cli.json(['download', id, '-d', directory, '--yes']);
        expect(saved.map(({ path }: { path: string }) => basename(path)).at(-1)).toBe('Take 1.5.mp3');
      }
      expect(readdirSync(directory).sort()).toEqual(['Interview with Dr.Who.mp3', 'Take 1.5.mp3']);
      // Without --yes, it still knows what it has saved.
      const again = await setup.cli.json(['download', '/Takes/*', '-d', directory]);
      expect(again.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['skipped', 'skipped']);
    },
  );

  it('download saves a file whose name has the 255 bytes of the file system, with its extension', async () => {
    const [source, directory] = [join(setup.cli.home, 'long'), join(setup.cli.home, 'long-saved')];
    mkdirSync(source);
    const path = join(source, `${'漢'.repeat(83)}ab.txt`);
    writeFileSync(path, 'long');
    const [{ asset_uid }] = await setup.cli.json(['upload', path, '--wait']);
    const [saved] = await setup.cli.json(['download', asset_uid, '-d', directory]);
    expect(basename(saved.path)).toBe(basename(path));
    expect(readFileSync(saved.path, 'utf8')).toBe('long');
  });

  it('download adds the uid to equal file names, and saves the other assets if one fails', async () => {
    const directory = join(setup.cli.home, 'all');
    const [, , sameNameUid] = assetUids as [string, string, string];
    const unknownUid = '00000000-0000-4000-8000-00000000dead';
    const { code, stdout } = await setup.cli.run([
      'download',
      assetUids[0] as string,
      sameNameUid,
      unknownUid,
      '-d',
      directory,
      '--transfers',
      '1',
      '--json',
    ]);
    expect(code).toBe(11);
    expect(JSON.parse(stdout).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      ...['downloaded', 'downloaded', 'failed'],
    ]);
    expect(readdirSync(directory).sort()).toEqual([assetUids[0], sameNameUid].map((uid) => `tone-${uid}.mp3`).sort());
  });

  it('download exits with 11 and keeps an existing local file of the same name unless --yes is given', async () => {
    const directory = join(setup.cli.home, 'all');
    mkdirSync(directory);
    writeFileSync(join(directory, 'tone.mp3'), 'mine');
    const { code } = await setup.cli.run(['download', ...assetUids.slice(0, 2), '-d', directory]);
    expect([code, readFileSync(join(directory, 'tone.mp3'), 'utf8')]).toEqual([11, 'mine']);
  });

  it('download does not confuse an asset with a saved one of the same name and creation time', async () => {
    const uidOfDigit = (digit: string) => `${digit.repeat(8)}-0000-4000-8000-000000000000`;
    const uidIn = (text: string) => /[0-9a-f]{8}-[0-9a-f-]{27}/i.exec(text)?.[0] ?? '';
    const service = await startRecordingServer(({ path, headers, body }) => {
      if (path.startsWith('/media/')) return { body: path.slice(7), headers: { 'content-type': 'application/pdf' } };
      if (path.endsWith('/playback/info/')) {
        const { asset_id: id } = body as { asset_id: string };
        return {
          body: { type: 'document', blocked: false, url: `http://${headers.host}/media/${id}` },
        };
      }
      const uid = uidIn(path).toUpperCase(); // some services return uppercase uids
      if (path.endsWith('/player/')) return { body: { uid, playback_token: `token-of-${uid}` } };
      return { body: { uid, name: '0001.pdf', created_at: '2026-03-01T12:00:00Z', size: 36 } };
    });
    const directory = join(setup.cli.home, 'twins');
    const download = async (...assetIds: string[]) => {
      const args = ['download', ...assetIds, '-d', directory, '--json'];
      const options = { environment: { MEDIACTL_BASE_URL: service.url } };
      return JSON.parse((await setup.cli.run(args, options)).stdout) as { outcome: string }[];
    };
    const outcomes = (all: { outcome: string }[]) => all.map(({ outcome }) => outcome);
    const downloadOne = async (id: string) => {
      await setup.cli.run(['download', id, '-d', directory], { environment: { MEDIACTL_BASE_URL: service.url } });
    };
    await downloadOne(uidOfDigit('a'));
    const [name = ''] = readdirSync(directory);
    expect(readFileSync(join(directory, name), 'utf8')).toContain('AAAAAAAA');
    expect(outcomes(await download(uidOfDigit('b'), uidOfDigit('c')))).toEqual(['downloaded', 'downloaded']);
    expect(outcomes(await download(uidOfDigit('b'), uidOfDigit('c')))).toEqual(['skipped', 'skipped']);
    expect(
      (
        await setup.cli.run(['download', uidOfDigit('b'), '-d', directory], {
          environment: { MEDIACTL_BASE_URL: service.url },
        })
      ).code,
    ).toBe(2);
  });

  it('download refuses -o for several assets, and download -n creates nothing', async () => {
    const exitCodeOf = async (...args: string[]) => (await setup.cli.run(['download', ...args])).code;
    expect(await exitCodeOf(...assetUids.slice(0, 2), '-o', 'x')).toBe(2);
    expect(await exitCodeOf('--search', 'still', '-o', 'x')).toBe(2);
    expect(await exitCodeOf(assetUids[0] as string, '-o', 'x', '-d', 'y')).toBe(2);
    expect(existsSync('y')).toBe(false);
    const directory = join(setup.cli.home, 'none');
    expect((await setup.cli.run(['download', ...assetUids.slice(0, 2), '-d', directory, '-n'])).code).toBe(0);
    expect(existsSync(directory)).toBe(false);
  });

  it('download --progress json reports the number of planned files and the outcome of each', async () => {
    const { stderr } = await setup.cli.run([
      'download',
      ...assetUids.slice(0, 2),
      '-d',
      join(setup.cli.home, 'all'),
      '--progress',
      'json',
    ]);
    const events = stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({ event: 'planned', files_total: 2 });
    expect(events.filter(({ event }) => event === 'finished')).toMatchObject([
      ...[{ outcome: 'downloaded' }, { outcome: 'downloaded' }],
    ]);
  });
});

it.skipIf(isStrict)(
  'assets ls -r lists a folder and its subfolders, newest first, and supports --limit and --count',
  async () => {
    const { cli } = setup;
    const parentFolder = `/Deep ${Date.now()}`;
    await cli.json(['folders', 'create', '-p', `${parentFolder}/er`]);
    const newestFirst: string[] = [];
    for (const folder of [parentFolder, `${parentFolder}/er`]) {
      const [{ asset_uid }] = await cli.json([
        'upload',
        fixturePath('still.jpg'),
        '--existing',
        'upload',
        '--folder',
        folder,
      ]);
      newestFirst.unshift(asset_uid);
    }
    const list = async (...args: string[]) =>
      (await cli.run(['ls', parentFolder, ...args, '-q'])).stdout.trim().split('\n');
    expect(await list()).toEqual([newestFirst[1]]);
    expect(await list('-r')).toEqual(newestFirst);
    expect(await list('-r', '--sort', 'created_at')).toEqual([...newestFirst].reverse());
    expect(await list('-r', '--limit', '1')).toEqual([newestFirst[0]]);
    expect((await cli.run(['ls', parentFolder, '-r', '--count'])).stdout).toBe(
      forSandboxMode({ normal: '2\n', strict: '' }), // no count without a total
    );
    expect((await cli.run(['ls', '-r'])).code).toBe(2);
    const limited = await cli.run(['ls', '/', '-r', '--limit', '1']);
    expect(limited.stderr).toBe(''); // no hint about more, since --limit was given
  },
);

describe('--quiet', () => {
  it('upload -q and rm -q print the uids and nothing else', async () => {
    const { cli } = setup;
    const upload = await cli.run(['upload', fixturePath('still.jpg'), '--existing', 'upload', '-q']);
    expect([upload.code, upload.stderr]).toEqual([0, '']);
    expect(upload.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    const removal = await cli.run(['rm', upload.stdout.trim(), '-q', '--yes']);
    expect([removal.stdout, removal.stderr]).toEqual([upload.stdout, '']);
  });

  it('get -q prints only the error if it fails', async () => {
    const { code, stdout, stderr } = await setup.cli.run(['get', 'nothing-of-that-name', '-q']);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^error: the service's search finds no asset named/);
  });

  it('upload -q still prints progress if --progress json requests it', async () => {
    const { stderr } = await setup.cli.run([
      'upload',
      fixturePath('still.jpg'),
      '--existing',
      'upload',
      '-q',
      '--progress',
      'json',
    ]);
    expect(stderr).toContain('"event":"progress"');
  });
});

it('uploads forget accepts the first six digits of the id or the asset uid of an unfinished upload', async () => {
  const { cli } = setup;
  const proxy = await FaultProxy.start(setup.sandbox.url, ({ method }) =>
    method === 'PATCH' ? respondWith(402, { error: {} }) : undefined,
  );
  const environment = { MEDIACTL_BASE_URL: proxy.url };
  expect((await cli.run(['upload', '--existing', 'upload', fixturePath('still.jpg')], { environment })).code).toBe(7);
  const [{ id, asset_uid }] = await cli.json(['uploads', 'ls'], { environment });
  const forget = (idOrUid: string) => cli.run(['uploads', 'forget', idOrUid, '-n'], { environment });
  for (const idOrUid of [id, id.slice(0, 6), asset_uid.slice(0, 8)])
    expect((await forget(idOrUid)).stderr).toContain('would forget');
  expect([(await forget(id.slice(0, 5))).code, (await forget('ffffff')).code]).toEqual([3, 3]);
  expect((await cli.run(['uploads', 'forget'], { environment })).code).toBe(2);
});

it('upload --dry-run shows folders as paths on a terminal and as uids in JSON', async () => {
  const { cli } = setup;
  const folder = `/Plan ${Date.now()}`;
  await cli.json(['folders', 'create', folder]);
  const args = ['upload', fixturePath('clip.mp4'), '--folder', folder, '-n'];
  expect((await cli.run(args, { tty: true, columns: 160 })).stdout).toContain(folder);
  expect((await cli.json(args))[0].folder_uid).toMatch(/^[0-9a-f-]{36}$/);
});

it('download of a renamed asset keeps the original file extension', async () => {
  const { cli } = setup;
  const [{ asset_uid }] = await cli.json(['upload', fixturePath('still.jpg'), '--existing', 'upload', '--wait']);
  await cli.json(['assets', 'update', asset_uid, '--name', 'Harbour morning']);
  const directory = join(cli.home, 'named');
  await cli.json(['download', asset_uid, '-d', directory]);
  expect(readdirSync(directory)).toEqual([
    forSandboxMode({ normal: 'Harbour morning.jpg', strict: 'Harbour morning' }),
  ]);
});

it('folders rm counts the assets and folders inside a folder that is not empty, and asks nothing', async () => {
  const { cli } = setup;
  const folder = `/Full ${Date.now()}`;
  await cli.json(['folders', 'create', '-p', `${folder}/er`]);
  await cli.json(['upload', fixturePath('still.jpg'), '--existing', 'upload', '--folder', folder]);
  const { code, stderr } = await cli.run(['folders', 'rm', folder], { tty: true, stdin: 'n\n' });
  const assets = forSandboxMode({ normal: '1 asset and ', strict: 'an unknown number of assets and ' });
  expect([code, stderr]).toEqual([6, expect.stringContaining(`it has ${assets}1 folder in it`)]);
  expect(stderr).not.toContain('[y/N]');
});

it('ls exits with 4 and lists the existing profiles if none is selected', async () => {
  const { cli } = setup;
  const environment = { MEDIACTL_API_KEY: undefined, MEDIACTL_BASE_URL: undefined };
  for (const name of ['one', 'two'])
    await cli.run(['login', '--with-key', '--profile', name, '--base-url', setup.sandbox.url], {
      stdin: setup.sandbox.key,
      environment,
    });
  await cli.run(['logout', 'two'], { environment });
  const { code, stderr } = await cli.run(['ls'], { environment });
  expect([code, stderr]).toEqual([
    4,
    expect.stringMatching(/no profile selected\n.*existing profiles: one\n.*auth switch/),
  ]);
});
