import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { inherited } from '../support/environment.ts';
import { errorOf } from '../support/errors.ts';
import { assetUid } from '../support/fake-library.ts';
import { serveAsset } from '../support/fake-service.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { fixturePath } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';

const { setup, account } = setUpCli();

const fileSize = 300_000;
const film = pseudoRandomBytes(fileSize);
const filmHeaders = { 'content-type': 'video/mp4', 'content-length': fileSize };
const sendFilm = (response: ServerResponse) => response.writeHead(200, filmHeaders).end(film);

/** Starts a service with one video; `media` handles the requests for its source file. */
const serveVideo = (media: (response: ServerResponse) => void) =>
  serveAsset({ name: 'film', type: 'video', size: fileSize, source_url: { url: 'HERE/media/film.mp4' } }, media);

describe('download from the sandbox', () => {
  it('download saves exactly the uploaded bytes, with the mode of the umask', async () => {
    await setup.cli.run(['upload', '--existing', 'upload', fixturePath('clip.mp4'), '--wait']);
    const path = join(setup.cli.home, 'back.mp4');
    const saved = await setup.cli.json(['assets', 'download', '@last', '-o', path]);
    expect(saved).toMatchObject([{ path, size_bytes: statSync(fixturePath('clip.mp4')).size }]);
    expect(readFileSync(path).equals(readFileSync(fixturePath('clip.mp4')))).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  it('download replaces an existing file only with --yes', async () => {
    await setup.cli.run(['upload', '--existing', 'upload', fixturePath('still.jpg'), '--wait']);
    const path = join(setup.cli.home, 'there.jpg');
    writeFileSync(path, 'mine');
    expect((await setup.cli.run(['assets', 'download', '@last', '-o', path])).code).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect((await setup.cli.run(['assets', 'download', '@last', '-o', path, '--yes'])).code).toBe(0);
    expect(readFileSync(path).equals(readFileSync(fixturePath('still.jpg')))).toBe(true);
  });

  it('download leaves a .part file that it did not create unchanged', async () => {
    await setup.cli.run(['upload', '--existing', 'upload', fixturePath('still.jpg'), '--wait']);
    const path = join(setup.cli.home, 'picture.jpg');
    writeFileSync(`${path}.part`, 'mine');
    expect((await setup.cli.run(['assets', 'download', '@last', '-o', path])).code).toBe(0);
    expect(readFileSync(`${path}.part`, 'utf8')).toBe('mine');
    expect(readdirSync(setup.cli.home).filter((name) => name.endsWith('.part'))).toEqual(['picture.jpg.part']);
  });

  it('download writes to a named pipe instead of replacing it', async () => {
    await setup.cli.run(['upload', '--existing', 'upload', fixturePath('still.jpg'), '--wait']);
    const pipe = join(setup.cli.home, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    const reader = promisify(execFile)('cat', [pipe], { encoding: 'buffer' });
    expect((await setup.cli.run(['assets', 'download', '@last', '-o', pipe])).code).toBe(0);
    expect((await reader).stdout.equals(readFileSync(fixturePath('still.jpg')))).toBe(true);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it('a second download to the same path exits with 6 and code locked while the first one is running', async () => {
    const path = join(setup.cli.home, 'same');
    const heldResponses: ServerResponse[] = [];
    const service = await serveVideo((response) => heldResponses.push(response));
    const download = () =>
      setup.cli.run(['assets', 'download', assetUid, '-o', path, '--json'], {
        environment: { MEDIACTL_BASE_URL: service },
      });
    const firstDownload = download();
    while (heldResponses.length === 0) await sleep(10);
    const secondDownload = await download();
    expect(errorOf(secondDownload)).toEqual({
      code: 'locked',
      exit: 6,
      hint: 'wait for it to finish, or use another path with -o',
    });
    sendFilm(heldResponses[0] as ServerResponse);
    expect((await firstDownload).code).toBe(0);
    expect(readFileSync(path).equals(film)).toBe(true);
  });

  it('download deletes the partial file of a killed download to the same path, and no other files', async () => {
    const path = join(setup.cli.home, 'picture.jpg');
    const partFiles = () => readdirSync(setup.cli.home).filter((name) => name.endsWith('.part'));
    let isStalled = true;
    const service = await serveVideo((response) => {
      response.writeHead(200, filmHeaders);
      response.write(film.subarray(0, 1000));
      if (!isStalled) response.end(film.subarray(1000));
    });
    const { child } = mediactl(['assets', 'download', assetUid, '-o', path], {
      ...account(),
      MEDIACTL_BASE_URL: service,
      MEDIACTL_STATE_DIR: `${setup.cli.home}/state`,
    });
    while (partFiles().length === 0) await sleep(20);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const otherPartFile = `picture.jpg.${'0a1b2c3d'.repeat(2)}.part`; // as another download names it
    for (const otherFile of [join(setup.cli.home, otherPartFile), `${path}.orig`]) writeFileSync(otherFile, 'left');
    isStalled = false;
    const environment = { MEDIACTL_BASE_URL: service };
    const { code } = await setup.cli.run(['assets', 'download', assetUid, '-o', path], { environment });
    expect([code, partFiles(), existsSync(`${path}.orig`)]).toEqual([0, [otherPartFile], true]);
  });

  it('download exits with 2 and keeps a file that appears at the path during the transfer', async () => {
    const path = join(setup.cli.home, 'film.mp4');
    const service = await serveVideo((response) => {
      writeFileSync(path, 'mine');
      sendFilm(response);
    });
    const environment = { MEDIACTL_BASE_URL: service };
    const { code, stderr } = await setup.cli.run(['assets', 'download', assetUid, '-o', path], { environment });
    expect([code, stderr]).toEqual([2, expect.stringContaining('already exists')]);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(readdirSync(setup.cli.home).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('download replaces a broken symbolic link', async () => {
    const path = join(setup.cli.home, 'film.mp4');
    symlinkSync('nowhere', path);
    const environment = { MEDIACTL_BASE_URL: await serveVideo(sendFilm) };
    const args = ['assets', 'download', assetUid, '-o', path];
    expect((await setup.cli.run(args, { environment })).code).toBe(0);
    expect(readFileSync(path).equals(film)).toBe(true);
  });

  it('two downloads to the same path with separate state folders do not corrupt each other', async () => {
    const path = join(setup.cli.home, 'film.mp4');
    const heldResponses: ServerResponse[] = [];
    const service = await serveVideo((response) => {
      if (heldResponses.push(response) > 1) return sendFilm(response);
      response.writeHead(200, filmHeaders);
      response.write(film.subarray(0, 1000));
    });
    const download = (state: string) =>
      setup.cli.run(['assets', 'download', assetUid, '-o', path, '--yes'], {
        environment: { MEDIACTL_BASE_URL: service, MEDIACTL_STATE_DIR: `${setup.cli.home}/${state}` },
      });
    const firstDownload = download('one');
    while (readdirSync(setup.cli.home).every((name) => !name.endsWith('.part'))) await sleep(20);
    expect((await download('two')).code).toBe(0);
    heldResponses[0]?.end(film.subarray(1000));
    expect((await firstDownload).code).toBe(0);
    expect(readFileSync(path).equals(film)).toBe(true);
  });

  it('download -o - prints no error if the reader closes the pipe', async () => {
    await setup.cli.run(['upload', '--existing', 'upload', fixturePath('clip.mp4'), '--wait']);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      ['--norc', '-c', `set -o pipefail; node '${program}' assets download @last -o - | head -c 10`],
      {
        env: {
          ...account(),
          ...inherited,
          MEDIACTL_STATE_DIR: `${setup.cli.home}/state`,
          MEDIACTL_CONFIG_DIR: `${setup.cli.home}/config`,
        },
        encoding: 'buffer',
      },
    );
    expect([stdout.length, stderr.toString()]).toEqual([10, '']);
  });

  it('download -o - writes the exact bytes to stdout, and exits with 2 on a terminal', async () => {
    await setup.cli.run(['upload', '--existing', 'upload', fixturePath('tone.mp3'), '--wait']);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'assets', 'download', '@last', '-o', '-'],
      {
        encoding: 'buffer',
        maxBuffer: 64 * 1024 * 1024,
        env: {
          ...inherited,
          MEDIACTL_CONFIG_DIR: `${setup.cli.home}/config`,
          MEDIACTL_STATE_DIR: `${setup.cli.home}/state`,
          ...account(),
        },
      },
    );
    expect(stdout.equals(readFileSync(fixturePath('tone.mp3')))).toBe(true);
    expect((await setup.cli.run(['assets', 'download', '@last', '-o', '-'], { tty: true })).code).toBe(2);
  });
});

describe('download verification', () => {
  const uploadClip = async () => {
    const file = join(setup.cli.home, 'clip.mp4');
    copyFileSync(fixturePath('clip.mp4'), file);
    const [{ asset_uid: uid }] = await setup.cli.json(['upload', file, '--existing', 'upload', '--wait']);
    return { uid, storedFile: join(setup.sandbox.dataDir, 'media', uid, 'source') };
  };
  const targetPath = () => join(setup.cli.home, 'copy.mp4');

  it('download verifies the BLAKE3 checksum of a file that the same machine uploaded', async () => {
    const { uid } = await uploadClip();
    expect(await setup.cli.json(['download', uid, '-o', targetPath()])).toMatchObject([{ verified: true }]);
    const assetUids = [uid, (await uploadClip()).uid];
    const [firstRecord] = await setup.cli.json(['download', ...assetUids, '-d', join(setup.cli.home, 'many')]);
    expect(firstRecord).toMatchObject({ outcome: 'downloaded', verified: true });
  });

  it('download verifies a picture if the service returns the file that was uploaded', async () => {
    const [{ asset_uid }] = await setup.cli.json([
      'upload',
      fixturePath('still.jpg'),
      '--existing',
      'upload',
      '--wait',
    ]);
    const path = join(setup.cli.home, 'still.jpg');
    expect(await setup.cli.json(['download', asset_uid, '-o', path])).toMatchObject([{ verified: true }]);
    expect(readFileSync(path).equals(readFileSync(fixturePath('still.jpg')))).toBe(true);
  });

  it('download exits with 13 if the checksum differs, and keeps the file beside the target', async () => {
    const { uid, storedFile } = await uploadClip();
    const bytes = readFileSync(storedFile);
    bytes.write('XXXX', 200_000);
    writeFileSync(storedFile, bytes);
    const { code, stderr } = await setup.cli.run(['download', uid, '-o', targetPath()]);
    expect([code, stderr]).toEqual([13, expect.stringContaining('is not the one that was uploaded')]);
    expect(stderr).toContain(`it is kept as ${targetPath()}.different`);
    expect([existsSync(targetPath()), readFileSync(`${targetPath()}.different`).equals(bytes)]).toEqual([false, true]);
    const record = await setup.cli.json(['download', uid, '-o', targetPath(), '--accept-rendition']);
    expect(record).toMatchObject([{ verified: null }]);
  });

  it('download marks a file as unverified, and not as the original, if another machine uploaded it', async () => {
    const { uid } = await uploadClip();
    const otherCli = new Cli({ MEDIACTL_API_KEY: setup.sandbox.key, MEDIACTL_BASE_URL: setup.sandbox.url });
    const args = ['download', uid, '-o', join(otherCli.home, 'copy.mp4')];
    expect(await otherCli.json([...args, '--yes'])).toMatchObject([{ verified: null }]);
    expect((await otherCli.run([...args, '--yes'], { tty: true })).stdout).toContain('unknown: original or rendition');
  });
});
