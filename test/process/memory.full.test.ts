import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { inherited } from '../support/environment.ts';
import { makeMedia, secondsOfAudio, secondsOfVideo } from '../support/ffmpeg.ts';
import { hangMs } from '../support/hang.ts';
import { executable, sandboxCommand } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Media whose metadata exceed the memory limit of a process. The files are sparse. The tests measure the resident
// memory of the processes, not their heaps.

const [program, sandboxFile] = sandboxCommand;
const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

/** Parts of a sparse file: bytes, or the size of a hole. */
type Parts = (Uint8Array | number)[];

const lengthOf = (part: Parts[number]) => (typeof part === 'number' ? part : part.length);

function writeSparse(path: string, parts: Parts): void {
  let size = 0;
  writeFileSync(path, '');
  for (const part of parts) {
    truncateSync(path, size);
    if (typeof part !== 'number') writeFileSync(path, part, { flag: 'a' });
    size += lengthOf(part);
  }
  truncateSync(path, size);
}

const box = (type: string, size: number) => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(size);
  head.write(type, 4, 'latin1');
  return head;
};

/** Inserts a cover image of this size into an MP4 whose `moov` box is last. */
function coverInMp4(path: string, bytes: number): Parts {
  const file = readFileSync(path);
  const moov = file.lastIndexOf('moov') - 4;
  const data = [box('data', 16 + bytes), Buffer.from('0000000d00000000', 'hex')];
  const covr = 8 + 16 + bytes;
  const ilst = 8 + covr;
  const meta = 12 + ilst; // `meta` has a version and flags
  const udta = 8 + meta;
  return [
    file.subarray(0, moov),
    ...[box('moov', file.length - moov + udta), file.subarray(moov + 8)],
    ...[box('udta', udta), box('meta', meta), Buffer.alloc(4)],
    ...[box('ilst', ilst), box('covr', covr), ...data, bytes],
  ];
}

/** Gives the first track of an MP4 a table of sample times (`stts`) of this size: 8 bytes per entry, all 0xff. */
function timesInMp4(path: string, bytes: number): Parts {
  const file = readFileSync(path);
  let at = file.lastIndexOf('moov') - 4;
  let end = 0;
  for (const type of ['moov', 'trak', 'mdia', 'minf', 'stbl']) {
    at = file.indexOf(type, at) - 4;
    const size = file.readUInt32BE(at);
    file.writeUInt32BE(size + 16 + bytes, at);
    end = at + size;
  }
  const head = Buffer.concat([box('stts', 16 + bytes), Buffer.alloc(8)]);
  head.writeUInt32BE(bytes / 8, 12);
  return [file.subarray(0, end), head, Buffer.alloc(bytes, 0xff), file.subarray(end)];
}

/** Creates the header of an EBML element of this size, with the size in eight bytes. */
const element = (id: string, bytes: number) => {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(bytes) | (1n << 56n));
  return Buffer.concat([Buffer.from(id, 'hex'), size]);
};

/** Inserts an attachment before the clusters of a Matroska file of unknown length. */
function attachmentInMatroska(path: string, bytes: number): Parts {
  const file = readFileSync(path);
  const cluster = file.indexOf(Buffer.from('1f43b675', 'hex'));
  const name = Buffer.concat([element('466e', 5), Buffer.from('a.jpg')]);
  const mime = Buffer.concat([element('4660', 10), Buffer.from('image/jpeg')]);
  const uid = Buffer.concat([element('46ae', 1), Buffer.from([1])]);
  const content = [name, mime, uid, element('465c', bytes)];
  const length = content.reduce((sum, part) => sum + part.length, bytes);
  return [
    file.subarray(0, cluster),
    ...[element('1941a469', length + 10), element('61a7', length), ...content, bytes],
    file.subarray(cluster),
  ];
}

/** Prepends an ID3v2.3 tag with a picture to an MP3; the tag's size has 28 bits. */
function pictureInMp3(path: string, bytes: number): Parts {
  const tag = Buffer.from('49443303000000000000', 'hex');
  const size = bytes + 10;
  for (const at of [0, 1, 2, 3]) tag[9 - at] = (size >> (7 * at)) & 0x7f;
  const frame = Buffer.alloc(10);
  frame.write('APIC');
  frame.writeUInt32BE(bytes, 4);
  return [tag, frame, bytes, readFileSync(path)];
}

/** Inserts pictures into a FLAC file: block sizes have 24 bits, but the number of blocks is unlimited. */
function picturesInFlac(path: string, count: number): Parts {
  const file = readFileSync(path);
  const first = 4 + 4 + 34; // the `fLaC` marker and the STREAMINFO block
  const bytes = 0xffffff;
  const head = Buffer.from([6, 0xff, 0xff, 0xff]);
  const described = Buffer.alloc(32);
  described.writeUInt32BE(bytes - 32, 28);
  const pictures = Array.from({ length: count }, () => [head, described, bytes - 32]).flat();
  return [file.subarray(0, first), ...pictures, file.subarray(first)];
}

type Status = { pid: number; parent: number; peakMiB: number };

function statusOf(pid: string): Status | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    const number = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1]);
    const peakMiB = number('VmHWM') / 1024 || 0; // a zombie has no memory
    return { pid: Number(pid), parent: number('PPid'), peakMiB };
  } catch {
    return undefined; // the process has ended
  }
}

/** Returns the status of a process and all its descendants. */
function familyOf(pid: number): Status[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statusOf(name) ?? []);
  const family = all.filter((each) => each.pid === pid);
  for (const member of family) family.push(...all.filter(({ parent }) => parent === member.pid));
  return family;
}

describe('large metadata', { tags: ['ffmpeg', 'Linux'] }, () => {
  const dataDir = join(temporaryFolder(), 'data');
  let child: ChildProcess;
  let url: string;
  let key: string;
  let output = '';
  const peakMiBByPid = new Map<number, number>();
  let watching: NodeJS.Timeout;

  const start = async (environment: Record<string, string>) => {
    child = spawn(program, [sandboxFile, JSON.stringify({ dataDir, port: 0 })], {
      env: { ...inherited, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    peakMiBByPid.clear();
    watching = setInterval(() => {
      for (const { pid, peakMiB } of familyOf(child.pid as number))
        peakMiBByPid.set(pid, Math.max(peakMiBByPid.get(pid) ?? 0, peakMiB));
    }, 20);
    output = '';
    child.stdout?.on('data', (text) => {
      output += text;
    });
    await vi.waitUntil(() => output.includes('listening on'), { timeout: hangMs });
    url = JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')).url;
    key = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')).keys.all;
  };
  const stop = async (signal: NodeJS.Signals) => {
    clearInterval(watching);
    child.kill(signal);
    await once(child, 'exit');
  };
  const sendRequest = async (path: string, init: RequestInit = {}) =>
    fetch(`${url}/api/external/v1${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } });

  // biome-ignore lint/suspicious/noExplicitAny: tests assert on its shape
  const getJson = async (path: string) => (await sendRequest(path)).json() as Promise<any>;

  /** Creates an upload session. @returns the session's and the asset's uid */
  const createUpload = async (filename: string, size: number) => {
    const { items } = await getJson('/workspaces/');
    const metadata = Object.entries({ filename, workspace_uid: items[0].uid });
    const response = await sendRequest('/upload/', {
      method: 'POST',
      headers: {
        'Tus-Resumable': '1.0.0',
        'Upload-Length': String(size),
        'Upload-Metadata': metadata
          .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
          .join(','),
      },
    });
    return (await response.json()) as { uid: string; asset_uid: string };
  };

  /** Restarts the service without ffmpeg and resets `peaks`. */
  const restart = async () => {
    await stop('SIGTERM');
    await start({ MEDIACTL_FFMPEG: 'none' });
  };

  /** Creates a session that has every byte but is not completed, as after a crash: the next start completes it. */
  const createUnfinishedUpload = async (name: string, parts: Parts) => {
    const size = parts.reduce<number>((sum, part) => sum + lengthOf(part), 0);
    const { uid, asset_uid } = await createUpload(name, size);
    writeSparse(join(dataDir, 'uploads', uid), parts);
    return asset_uid;
  };

  const waitForProcessing = async (uid: string) => {
    let asset = { status: '', type: '' };
    while (asset.status !== 'ready' && asset.status !== 'failed') {
      await new Promise((resolve) => setTimeout(resolve, 100));
      asset = await getJson(`/assets/${uid}/`);
    }
    return asset;
  };

  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  const avArgs = [...secondsOfVideo(1, '320x180'), ...secondsOfAudio(1), ...h264];
  const assets = new Map<string, string>();
  beforeAll(async () => {
    const mp3 = await makeMedia('a.mp3', ...secondsOfAudio(1), '-write_xing', '0', '-id3v2_version', '0');
    const table: [string, Parts][] = [
      ['cover.mp4', coverInMp4(await makeMedia('a.mp4', ...avArgs), GiB)],
      ['cover.mkv', attachmentInMatroska(await makeMedia('a.mkv', ...avArgs, '-live', '1'), GiB)],
      ['cover.mp3', pictureInMp3(mp3, 250 * MiB)],
      ['covers.flac', picturesInFlac(await makeMedia('a.flac', ...secondsOfAudio(1)), 64)],
    ];
    await start({ MEDIACTL_FFMPEG: 'none' });
    for (const [name, parts] of table) assets.set(name, await createUnfinishedUpload(name, parts));
  });
  afterAll(() => stop('SIGKILL'));

  it('the service serves media with a gigabyte of metadata without reading it into memory', async () => {
    await restart();
    for (const [name, uid] of assets) {
      const asset = await waitForProcessing(uid);
      const type = /mp3|flac/.test(name) ? 'audio' : 'video';
      expect([name, asset.status, asset.type]).toEqual([name, 'ready', type]);
    }
    expect(Math.max(...peakMiBByPid.values())).toBeLessThan(512);
    expect(peakMiBByPid.size).toBeGreaterThan(2); // the service, and one worker per file
  });

  it('a worker that exceeds its memory limit is killed, and the service serves the original file', async () => {
    // 60 MiB of sample times become 7.8 million objects, about a gigabyte.
    const uid = await createUnfinishedUpload('times.mp4', timesInMp4(await makeMedia('a.mp4', ...avArgs), 60 * MiB));
    await restart();
    expect(await waitForProcessing(uid)).toMatchObject({ status: 'ready', type: 'video' });
    // The executable's runtime needs less memory for the same objects.
    if (!executable) expect(output).toMatch(/the worker exited: SIG/);
    const [service, ...workers] = [...peakMiBByPid].sort(([a], [b]) => a - b).map(([, peak]) => peak);
    expect(service).toBeLessThan(256);
    if (!executable) expect(Math.max(...workers)).toBeGreaterThan(512); // it did allocate
    expect(Math.max(...workers)).toBeLessThan(1024);
  });
});
