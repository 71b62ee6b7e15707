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
import { someBytes } from '../support/files.ts';
import { fixturePath } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';

const { world, account } = setUpCli();

const fileSize = 300_000;
const film = someBytes(fileSize);
const filmHeaders = { 'content-type': 'video/mp4', 'content-length': fileSize };
const sendFilm = (response: ServerResponse) => response.writeHead(200, filmHeaders).end(film);

/** Starts a service with one video; `media` handles the requests for its source file. */
const serveVideo = (media: (response: ServerResponse) => void) =>
  serveAsset({ name: 'film', type: 'video', size: fileSize, source_url: { url: 'HERE/media/film.mp4' } }, media);

describe('from the sandbox', () => {
  it('gives back the bytes that were uploaded, 0600 and whole', async () => {
    await world.cli.run(['upload', '--force', fixturePath('clip.mp4'), '--wait']);
    const path = join(world.cli.home, 'back.mp4');
    const saved = await world.cli.json(['assets', 'download', '@last', '-o', path]);
    expect(saved).toMatchObject([{ path, size_bytes: statSync(fixturePath('clip.mp4')).size }]);
    expect(readFileSync(path).equals(readFileSync(fixturePath('clip.mp4')))).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('a file that is there is replaced with --yes only', async () => {
    await world.cli.run(['upload', '--force', fixturePath('still.jpg'), '--wait']);
    const path = join(world.cli.home, 'there.jpg');
    writeFileSync(path, 'mine');
    expect((await world.cli.run(['assets', 'download', '@last', '-o', path])).code).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect((await world.cli.run(['assets', 'download', '@last', '-o', path, '--yes'])).code).toBe(0);
    expect(readFileSync(path).equals(readFileSync(fixturePath('still.jpg')))).toBe(true);
  });

  it('neither a .part of somebody else nor a link of that name is touched', async () => {
    await world.cli.run(['upload', '--force', fixturePath('still.jpg'), '--wait']);
    const path = join(world.cli.home, 'picture.jpg');
    writeFileSync(`${path}.part`, 'mine');
    expect((await world.cli.run(['assets', 'download', '@last', '-o', path])).code).toBe(0);
    expect(readFileSync(`${path}.part`, 'utf8')).toBe('mine');
    expect(readdirSync(world.cli.home).filter((name) => name.endsWith('.part'))).toEqual(['picture.jpg.part']);
  });

  it('what is no file is written to, not replaced', async () => {
    await world.cli.run(['upload', '--force', fixturePath('still.jpg'), '--wait']);
    const pipe = join(world.cli.home, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    const reader = promisify(execFile)('cat', [pipe], { encoding: 'buffer' });
    expect((await world.cli.run(['assets', 'download', '@last', '-o', pipe])).code).toBe(0);
    expect((await reader).stdout.equals(readFileSync(fixturePath('still.jpg')))).toBe(true);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it('two to one place at once: one is done, the other one leaves', async () => {
    const path = join(world.cli.home, 'same');
    const waiting: ServerResponse[] = [];
    const service = await serveVideo((response) => waiting.push(response));
    const download = () =>
      world.cli.run(['assets', 'download', assetUid, '-o', path, '--json'], {
        environment: { MEDIACTL_BASE_URL: service },
      });
    const slow = download();
    while (waiting.length === 0) await sleep(10);
    const other = await download();
    expect(errorOf(other)).toEqual({
      code: 'locked',
      exit: 6,
      hint: 'wait for it to finish, or use another path with -o',
    });
    sendFilm(waiting[0] as ServerResponse);
    expect((await slow).code).toBe(0);
    expect(readFileSync(path).equals(film)).toBe(true);
  });

  it('what a killed download left is gone with the next one to the same place, nobody else’s is', async () => {
    const path = join(world.cli.home, 'picture.jpg');
    const parts = () => readdirSync(world.cli.home).filter((name) => name.endsWith('.part'));
    let isSlow = true;
    const service = await serveVideo((response) => {
      response.writeHead(200, filmHeaders);
      response.write(film.subarray(0, 1000));
      if (!isSlow) response.end(film.subarray(1000));
    });
    const { child } = mediactl(['assets', 'download', assetUid, '-o', path], {
      ...account(),
      MEDIACTL_BASE_URL: service,
      MEDIACTL_STATE_DIR: `${world.cli.home}/state`,
    });
    while (parts().length === 0) await sleep(20);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const others = `picture.jpg.${'0a1b2c3d'.repeat(2)}.part`;
    for (const left of [join(world.cli.home, others), `${path}.orig`]) writeFileSync(left, 'left');
    isSlow = false;
    const environment = { MEDIACTL_BASE_URL: service };
    const { code } = await world.cli.run(['assets', 'download', assetUid, '-o', path], {
      environment,
    });
    expect([code, parts(), existsSync(`${path}.orig`)]).toEqual([0, [others], true]);
  });

  it('a file that comes while it downloads is not replaced', async () => {
    const path = join(world.cli.home, 'film.mp4');
    const service = await serveVideo((response) => {
      writeFileSync(path, 'mine');
      sendFilm(response);
    });
    const environment = { MEDIACTL_BASE_URL: service };
    const { code, stderr } = await world.cli.run(['assets', 'download', assetUid, '-o', path], {
      environment,
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('already exists')]);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(readdirSync(world.cli.home).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('a link that leads nowhere is replaced', async () => {
    const path = join(world.cli.home, 'film.mp4');
    symlinkSync('nowhere', path);
    const environment = {
      MEDIACTL_BASE_URL: await serveVideo(sendFilm),
    };
    const args = ['assets', 'download', assetUid, '-o', path];
    expect((await world.cli.run(args, { environment })).code).toBe(0);
    expect(readFileSync(path).equals(film)).toBe(true);
  });

  it('two that share a place and no state folder leave each other’s bytes alone', async () => {
    const path = join(world.cli.home, 'film.mp4');
    const waiting: ServerResponse[] = [];
    const service = await serveVideo((response) => {
      if (waiting.push(response) > 1) return sendFilm(response);
      response.writeHead(200, filmHeaders);
      response.write(film.subarray(0, 1000));
    });
    const download = (state: string) =>
      world.cli.run(['assets', 'download', assetUid, '-o', path, '--yes'], {
        environment: {
          MEDIACTL_BASE_URL: service,
          MEDIACTL_STATE_DIR: `${world.cli.home}/${state}`,
        },
      });
    const slow = download('one');
    while (readdirSync(world.cli.home).every((name) => !name.endsWith('.part'))) await sleep(20);
    expect((await download('two')).code).toBe(0);
    waiting[0]?.end(film.subarray(1000));
    expect((await slow).code).toBe(0);
    expect(readFileSync(path).equals(film)).toBe(true);
  });

  it('a reader that leaves ends it quietly', async () => {
    await world.cli.run(['upload', '--force', fixturePath('clip.mp4'), '--wait']);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      ['--norc', '-c', `set -o pipefail; node '${program}' assets download @last -o - | head -c 10`],
      {
        env: {
          ...account(),
          ...inherited,
          MEDIACTL_STATE_DIR: `${world.cli.home}/state`,
          MEDIACTL_CONFIG_DIR: `${world.cli.home}/config`,
        },
        encoding: 'buffer',
      },
    );
    expect([stdout.length, stderr.toString()]).toEqual([10, '']);
  });

  it('-o - is stdout, byte for byte; on a terminal that is refused', async () => {
    await world.cli.run(['upload', '--force', fixturePath('tone.mp3'), '--wait']);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'assets', 'download', '@last', '-o', '-'],
      {
        encoding: 'buffer',
        maxBuffer: 64 * 1024 * 1024,
        env: {
          ...inherited,
          MEDIACTL_CONFIG_DIR: `${world.cli.home}/config`,
          MEDIACTL_STATE_DIR: `${world.cli.home}/state`,
          ...account(),
        },
      },
    );
    expect(stdout.equals(readFileSync(fixturePath('tone.mp3')))).toBe(true);
    expect((await world.cli.run(['assets', 'download', '@last', '-o', '-'], { tty: true })).code).toBe(2);
  });
});

describe('a download of what this machine uploaded', () => {
  const upload = async () => {
    const file = join(world.cli.home, 'clip.mp4');
    copyFileSync(fixturePath('clip.mp4'), file);
    const [{ asset_uid: uid }] = await world.cli.json(['upload', file, '--force', '--wait']);
    return { uid, source: join(world.sandbox.dataDir, 'media', uid, 'source') };
  };
  const target = () => join(world.cli.home, 'copy.mp4');

  it('is compared with it by BLAKE3', async () => {
    const { uid } = await upload();
    expect(await world.cli.json(['download', uid, '-o', target()])).toMatchObject([{ verified: true }]);
    const others = [uid, (await upload()).uid];
    const [many] = await world.cli.json(['download', ...others, '-d', join(world.cli.home, 'many')]);
    expect(many).toMatchObject({ outcome: 'downloaded', verified: true });
  });

  it('that differs is an error, and the file is kept beside the target', async () => {
    const { uid, source } = await upload();
    const bytes = readFileSync(source);
    bytes.write('XXXX', 200_000);
    writeFileSync(source, bytes);
    const { code, stderr } = await world.cli.run(['download', uid, '-o', target()]);
    expect([code, stderr]).toEqual([13, expect.stringContaining('is not the one that was uploaded')]);
    expect(stderr).toContain(`it is kept as ${target()}.different`);
    expect([existsSync(target()), readFileSync(`${target()}.different`).equals(bytes)]).toEqual([false, true]);
    const accepted = await world.cli.json(['download', uid, '-o', target(), '--accept-rendition']);
    expect(accepted).toMatchObject([{ verified: null }]);
  });

  it('is unverified on a machine that has not uploaded it, and is not called the original', async () => {
    const { uid } = await upload();
    const other = new Cli({ MEDIACTL_API_KEY: world.sandbox.key, MEDIACTL_BASE_URL: world.sandbox.url });
    const args = ['download', uid, '-o', join(other.home, 'copy.mp4')];
    expect(await other.json([...args, '--yes'])).toMatchObject([{ verified: null }]);
    expect((await other.run([...args, '--yes'], { tty: true })).stdout).toContain('unknown: original or rendition');
  });
});
