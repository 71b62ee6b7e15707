import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MediactlError } from '../../src/errors.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { someBytes, writeSome } from '../support/files.ts';
import { answer } from '../support/http-server.ts';
import { answering, type Fault, Interposer, type Seen } from '../support/interposer.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

/** Small chunks: the faults are the same, the files are not. */
const chunkBytes = 64 * 1024;
const chunk = ['--chunk-size', '64KiB'];

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
});
afterAll(() => sandbox.end());

let cli: Cli;
let path: string;
let bytes: Buffer;
beforeEach(() => {
  cli = new Cli();
  path = join(cli.home, `rushes-${basename(cli.home)}.bin`);
  bytes = writeSome(path, 4 * chunkBytes + 1000, path);
});

const environmentFor = (url: string) => ({
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});

const through = (plan: (seen: Seen) => Fault | undefined) => Interposer.before(sandbox.url, plan);

/** Uploads through an interposer, on a fast clock unless told otherwise. */
async function upload(interposer: Interposer, args: string[] = [], options: CliOptions = {}) {
  const ran = await cli.run(['upload', path, '--json', ...chunk, ...args], {
    clock: fastClock(),
    ...options,
    environment: { ...environmentFor(interposer.url), ...options.environment },
  });
  const [record] = ran.stdout ? JSON.parse(ran.stdout) : [];
  return { ...ran, record };
}

/** What the sandbox holds of an asset, byte for byte. */
const stored = (assetUid: string) =>
  readFileSync(join(sandbox.dataDir, 'media', assetUid, 'source'));

const journalFiles = () => {
  const folder = join(cli.home, 'state/uploads');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
};

const patches = (interposer: Interposer) =>
  interposer.seen.filter(({ method }) => method === 'PATCH');

async function expectWhole(record: { asset_uid: string; verified: boolean | null }) {
  expect(record).toMatchObject({ verified: true, error: null });
  expect(stored(record.asset_uid).equals(bytes)).toBe(true);
  expect(journalFiles()).toEqual([]);
}

describe('a fresh upload', () => {
  it('costs one POST and a PATCH a chunk, and no HEAD', async () => {
    const interposer = await through(() => undefined);
    const { code, record } = await upload(interposer);
    expect(code).toBe(0);
    expect(interposer.methods).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'PATCH']);
    expect(record).toMatchObject({
      requests: 6,
      bytes_sent: bytes.length,
      resumed_from: null,
      size_bytes: bytes.length,
    });
    await expectWhole(record);
  });

  it.each([0, 1, chunkBytes, chunkBytes + 1])('of %i bytes works', async (size) => {
    bytes = writeSome(path, size, `size ${size}`);
    const interposer = await through(() => undefined);
    const { code, record } = await upload(interposer);
    expect(code).toBe(0);
    expect(interposer.methods.length).toBe(1 + Math.ceil(size / chunkBytes));
    if (size === 0) expect(record).toMatchObject({ verified: null, size_bytes: 0 });
    else await expectWhole(record);
  });

  it.each(['夜明けの港.mp4', 'größe – ½ "quoted".mov', 'ملف.bin', '-dash.bin', '🎬.mp4'])(
    'of a file called %s works',
    async (name) => {
      path = join(cli.home, name);
      bytes = writeSome(path, 1000);
      const interposer = await through(() => undefined);
      const { code, record } = await upload(interposer);
      expect(code).toBe(0);
      expect(record.name).toBe(name);
      await expectWhole(record);
    },
  );

  it('from stdin is spooled first, and the spool is gone afterwards', async () => {
    const interposer = await through(() => undefined);
    path = '-';
    const { code, record } = await upload(interposer, ['--name', 'Piped'], { stdin: bytes });
    expect(code).toBe(0);
    expect(record).toMatchObject({ path: '-', name: 'Piped' });
    await expectWhole(record);
    expect(readdirSync(join(cli.home, 'state/spool'))).toEqual([]);
  });
});

describe('after an upload', () => {
  it('one that could not be processed may be sent again by the same command', async () => {
    const interposer = await through(() => undefined);
    path = join(cli.home, 'broken.mp4'); // what is called media, and is none
    writeFileSync(path, bytes);
    const first = await upload(interposer, ['--wait']);
    expect(first.code).toBe(12);
    expect(first.record).toMatchObject({ verified: true, bytes_sent: bytes.length });
    expect(first.record.session_uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(journalFiles()).toEqual([]);
    bytes = Buffer.from('%PDF-1.7\n%mended\n');
    writeFileSync(path, bytes);
    const second = await upload(interposer, ['--wait']);
    expect(second.record).toMatchObject({ status: 'ready', verified: true });
  });

  it('interrupted between two files: what is done is still told', async () => {
    const abort = new AbortController();
    const other = join(cli.home, 'second.bin');
    writeSome(other, 1000);
    const interposer = await through((seen) =>
      seen.method === 'POST' && seen.nth === 2
        ? {
            respond: () =>
              abort.abort(new MediactlError('interrupted', { code: 'interrupted', exitCode: 130 })),
          }
        : undefined,
    );
    const ran = await cli.run(['upload', path, other, '--json', ...chunk], {
      environment: environmentFor(interposer.url),
      signal: abort.signal,
    });
    expect(ran.code).toBe(130);
    const records = JSON.parse(ran.stdout);
    expect(
      records.map(({ verified, error }: never) => [
        verified,
        error && (error as { code: string }).code,
      ]),
    ).toEqual([
      [true, null],
      [null, 'interrupted'],
    ]);
  });

  it('stdin that was refused leaves no spool', async () => {
    const interposer = await through(() => answering(400, 'no'));
    path = '-';
    expect((await upload(interposer, [], { stdin: bytes })).code).toBe(6);
    expect(readdirSync(join(cli.home, 'state/spool'))).toEqual([]);
  });

  it('many are waited for by pages of the list, not one by one', async () => {
    const files = [1, 2, 3, 4].map((n) => join(cli.home, `${n}.md`));
    for (const each of files) writeFileSync(each, `# ${each}`);
    const interposer = await through(() => undefined);
    const ran = await cli.run(['upload', ...files, '--wait', '--json'], {
      environment: environmentFor(interposer.url),
    });
    expect(JSON.parse(ran.stdout).map(({ status }: never) => status)).toEqual(
      Array(4).fill('ready'),
    );
    const gets = interposer.seen
      .filter(({ method }) => method === 'GET')
      .map(({ path: url }) => url);
    // The last one left is asked for by itself.
    expect(gets[0]).toContain('/assets/?limit=100');
    expect(new Set(gets).size).toBeLessThanOrEqual(2);
  });
});

describe('rate limit', () => {
  it.each(['POST', 'PATCH', 'HEAD'])(
    '429 on %s is waited out and counts as no failure',
    async (method) => {
      const clock = fastClock();
      const limited = (seen: Seen): Fault | undefined => {
        if (method === 'HEAD' && seen.method === 'PATCH' && seen.nth === 2)
          return { cutAfterBytes: 100 };
        if (seen.method !== method || seen.nth > 3) return undefined;
        return answering(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
      };
      const interposer = await through(limited);
      const { code, record, stderr } = await upload(interposer, ['--progress', 'json'], { clock });
      expect(code).toBe(0);
      await expectWhole(record);
      expect(clock.sleptMs.filter((delay) => delay === 7000)).toHaveLength(3);
      const waits = stderr.split('\n').filter((line) => line.includes('"why":"rate-limited"'));
      expect(waits).toHaveLength(3);
    },
  );

  it('past --max-wait it ends 9, keeps its state, and the same command goes on', async () => {
    let limited = true;
    const interposer = await through((seen) =>
      limited && seen.method === 'PATCH' && seen.nth >= 3
        ? answering(429, { error: {} }, { 'retry-after': '3600' })
        : undefined,
    );
    const { code, record } = await upload(interposer, ['--max-wait', '10m']);
    expect(code).toBe(9);
    expect(record.error).toMatchObject({
      code: 'rate_limited',
      retryable: true,
      retry_after: 3600,
    });
    expect(journalFiles()).toHaveLength(1);
    limited = false;
    const second = await upload(interposer);
    expect(second.record.resumed_from).toBe(2 * chunkBytes);
    await expectWhole(second.record);
  });
});

describe('broken lines and failing servers', () => {
  it('goes on after dropped connections, from what the service kept', async () => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH' && [2, 4].includes(seen.nth) ? { cutAfterBytes: 20_000 } : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(0);
    await expectWhole(record);
    expect(record.bytes_sent).toBeLessThanOrEqual(bytes.length + 2 * chunkBytes);
    expect(interposer.methods.filter((method) => method === 'HEAD')).toHaveLength(2);
  });

  it('does not send a chunk again whose answer was lost', async () => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH' && seen.nth === 2 ? { loseAnswer: true } : undefined,
    );
    const { record } = await upload(interposer);
    await expectWhole(record);
    expect(record.bytes_sent).toBe(bytes.length);
  });

  it('waits longer and longer, at most 60 s, and gives up after 10 tries with its state kept', async () => {
    const clock = fastClock(10_000);
    let down = true;
    const interposer = await through((seen) =>
      down && seen.nth > 1 && seen.method !== 'POST' ? answering(503, 'no') : undefined,
    );
    const { code, record } = await upload(interposer, [], { clock });
    expect(code).toBe(10);
    expect(record.error).toMatchObject({ status: 503, retryable: true });
    expect(record.error.hint).toContain('uploads resume');
    expect(clock.sleptMs.map((delay) => Math.ceil(delay / 1000))).toEqual([
      1, 2, 4, 8, 16, 32, 60, 60, 60,
    ]);
    down = false;
    const second = await upload(interposer);
    expect(second.record.resumed_from).toBe(chunkBytes);
    await expectWhole(second.record);
  });

  it('a 503 on creation is tried again: nothing was made', async () => {
    const interposer = await through((seen) =>
      seen.method === 'POST' && seen.nth <= 2
        ? answering(503, 'storage not configured')
        : undefined,
    );
    const { record } = await upload(interposer);
    await expectWhole(record);
    expect(interposer.methods.filter((method) => method === 'POST')).toHaveLength(3);
  });

  it('a peer that goes silent is left after the idle time, and the upload goes on', async () => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH' && seen.nth === 2
        ? { respond: (_response, request) => void request.resume() }
        : undefined,
    );
    const { code, record, stderr } = await upload(interposer, [
      '--request-timeout',
      '1s',
      '--progress',
      'json',
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('went silent');
    await expectWhole(record);
  });
});

describe('offsets', () => {
  it('a 409 names the offset to go on from: no extra HEAD', async () => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH' && seen.nth === 2
        ? answering(409, { error: {} }, { 'upload-offset': String(chunkBytes) })
        : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(0);
    await expectWhole(record);
    expect(interposer.methods).not.toContain('HEAD');
  });

  it('an offset beyond the size is an error', async () => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH'
        ? answering(409, undefined, { 'upload-offset': '99999999' })
        : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(13);
    expect(record.error.message).toContain('99999999');
  });

  it.each([204, 409])('the same offset for ever (%i) ends after 5 answers', async (status) => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH' ? answering(status, undefined, { 'upload-offset': '0' }) : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(10);
    expect(record.error.message).toBe('the upload does not get past byte 0');
    expect(patches(interposer)).toHaveLength(5);
  });

  it('a session ahead of the journal: the gap is read from disk, the whole is verified', async () => {
    const abort = new AbortController();
    const watching = await through((seen) => {
      if (seen.method === 'PATCH' && seen.nth === 3)
        return { beforeAnswer: () => abort.abort(new Error('stop')), loseAnswer: true };
      return undefined;
    });
    const first = await upload(watching, [], { signal: abort.signal });
    expect(first.code).toBe(1);
    const entry = JSON.parse(
      readFileSync(join(cli.home, 'state/uploads', journalFiles()[0] as string), 'utf8'),
    );
    expect(entry.offset).toBe(2 * chunkBytes);
    const second = await upload(watching);
    expect(second.record.resumed_from).toBe(3 * chunkBytes);
    await expectWhole(second.record);
  });
});

describe('location', () => {
  it.each([
    ['a path', (real: string) => real],
    ['a path without its slash', (real: string) => real.slice(1)],
    ['an absolute URL', (real: string, base: string) => base + real],
  ])('%s is followed', async (_what, rewrite) => {
    let base = '';
    const interposer = await through((seen) =>
      seen.method === 'POST'
        ? { respond: (response) => void createWith(response, (real) => rewrite(real, base)) }
        : undefined,
    );
    base = interposer.url;
    const { code, record } = await upload(interposer);
    expect(code).toBe(0);
    await expectWhole(record);
  });

  it('another origin is refused (13) and gets no request', async () => {
    const foreign = await through(() => undefined);
    const interposer = await through((seen) =>
      seen.method === 'POST'
        ? { respond: (response) => void createWith(response, (real) => foreign.url + real) }
        : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(13);
    expect(record.error.code).toBe('foreign_origin');
    expect(record.asset_uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(foreign.seen).toEqual([]);
    expect(patches(interposer)).toEqual([]);
  });

  /** Creates a real session, and tells another location of it. */
  async function createWith(
    response: Parameters<NonNullable<Fault['respond']>>[0],
    location: (real: string) => string,
  ) {
    const real = await fetch(`${sandbox.url}/api/external/v1/upload/`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${sandbox.key}`,
        'tus-resumable': '1.0.0',
        'upload-length': String(bytes.length),
        'upload-metadata': `filename ${btoa('rushes.bin')},workspace_uid ${btoa(sandbox.workspace)}`,
      },
    });
    const session = (await real.json()) as { location: string };
    answer(response, 201, { ...session, location: location(session.location) });
  }
});

describe('refusals of the creation', () => {
  it.each([
    [400, 6, 'bad_request'],
    [402, 7, 'credits_depleted'],
    [404, 3, 'not_found'],
    [412, 6, 'precondition_failed'],
    [413, 6, 'too_large'],
    [507, 7, 'storage_full'],
  ])('%i as text/plain: its own words, exit %i, no retry', async (status, exit, code) => {
    const interposer = await through(() => answering(status, `reason for ${status}`));
    const ran = await upload(interposer);
    expect(ran.code).toBe(exit);
    expect(ran.record.error).toMatchObject({ code, status, cause: `reason for ${status}` });
    expect(interposer.seen).toHaveLength(1);
    expect(journalFiles()).toEqual([]);
  });
});

describe('refusals in mid-upload', () => {
  it.each([
    [401, 4],
    [402, 7],
  ])('%i stops, keeps the state and says how to go on', async (status, exit) => {
    let refused = true;
    const interposer = await through((seen) =>
      refused && seen.method === 'PATCH' && seen.nth === 3
        ? answering(status, { error: { message: 'no more' } })
        : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(exit);
    expect(record.error.hint).toContain('run the same command again');
    refused = false;
    const second = await upload(interposer);
    expect(second.record.resumed_from).toBe(2 * chunkBytes);
    await expectWhole(second.record);
  });
});

describe('a file that changes under the upload', () => {
  const changes: [string, number, () => void][] = [
    ['shrinks', 13, () => truncateSync(path, 3 * chunkBytes)],
    ['grows', 13, () => appendFileSync(path, 'more')],
    ['is edited', 13, () => writeFileSync(path, someBytes(bytes.length, 'edited'))],
    ['is deleted', 1, () => rmSync(path)],
    [
      'is replaced',
      13,
      () => {
        writeFileSync(`${path}.new`, someBytes(bytes.length, 'replaced'));
        renameSync(`${path}.new`, path);
      },
    ],
  ];
  it.each(changes)('%s: exit %i, and no spliced asset', async (_what, exit, change) => {
    const interposer = await through((seen) =>
      seen.method === 'PATCH' && seen.nth === 2 ? { beforeAnswer: () => change() } : undefined,
    );
    const { code, record } = await upload(interposer);
    expect(code).toBe(exit);
    expect(record.error.code).toBe(exit === 1 ? 'file_gone' : 'file_changed');
    const { items } = (await (
      await fetch(`${sandbox.url}/api/external/v1/assets/?limit=1`, {
        headers: { authorization: `Bearer ${sandbox.key}` },
      })
    ).json()) as { items: { status: string }[] };
    expect(items[0]?.status).toBe('uploading');
  });

  it('edited between two runs: refused before a byte is sent', async () => {
    await interruptedAfterTwoChunks();
    writeFileSync(path, someBytes(bytes.length, 'edited'));
    const interposer = await through(() => undefined);
    const { code, record } = await upload(await resuming(interposer));
    expect(code).toBe(13);
    expect(record.error.cause).toContain('no longer the same');
    expect(patches(interposer)).toEqual([]);
  });

  it('touched between two runs: the content is what counts', async () => {
    await interruptedAfterTwoChunks();
    utimesSync(path, 1, 1);
    const { record } = await upload(await resuming());
    expect(record.resumed_from).toBe(2 * chunkBytes);
    await expectWhole(record);
  });
});

/** One address for both runs, since the journal goes by it. */
let line: Interposer;
let fault: (seen: Seen) => Fault | undefined = () => undefined;

async function interruptedAfterTwoChunks(): Promise<string> {
  line = await through((seen) => fault(seen));
  const count = { patches: 0 };
  fault = ({ method }) =>
    method === 'PATCH' && ++count.patches === 3 ? answering(402, { error: {} }) : undefined;
  const { code } = await upload(line);
  expect(code).toBe(7);
  fault = () => undefined;
  line.seen.length = 0;
  const [name] = journalFiles();
  return join(cli.home, 'state/uploads', name as string);
}

/** The line of the first run, its requests told to another interposer's record. */
async function resuming(record?: Interposer): Promise<Interposer> {
  fault = (seen) => {
    record?.seen.push(seen);
    return undefined;
  };
  return line;
}

describe('sessions that are gone', () => {
  it.each([404, 410])('%i: starts anew and names the orphan', async (status) => {
    const journal = await interruptedAfterTwoChunks();
    const { session } = JSON.parse(readFileSync(journal, 'utf8'));
    fault = ({ method, nth }) => (method === 'HEAD' && nth === 1 ? answering(status) : undefined);
    const { record, stderr } = await upload(line);
    expect(stderr).toContain(`Asset ${session.assetUid} stays unfinished`);
    expect(record.asset_uid).not.toBe(session.assetUid);
    expect(record.resumed_from).toBeNull();
    await expectWhole(record);
  });

  it('past expires_at: no request is wasted on it', async () => {
    const journal = await interruptedAfterTwoChunks();
    const entry = JSON.parse(readFileSync(journal, 'utf8'));
    entry.session.expiresAt = '2020-01-01T00:00:00Z';
    writeFileSync(journal, JSON.stringify(entry));
    const { record } = await upload(line);
    expect(line.methods).not.toContain('HEAD');
    await expectWhole(record);
  });

  it('--on-expired fail stops instead', async () => {
    const journal = await interruptedAfterTwoChunks();
    const { session } = JSON.parse(readFileSync(journal, 'utf8'));
    fault = () => answering(404);
    const { code, record } = await upload(line, ['--on-expired', 'fail']);
    expect(code).toBe(3);
    expect(record).toMatchObject({ asset_uid: session.assetUid });
    expect(journalFiles()).toHaveLength(1);
  });

  it('--no-resume makes a new asset and names the old one', async () => {
    const journal = await interruptedAfterTwoChunks();
    const { session } = JSON.parse(readFileSync(journal, 'utf8'));
    const { record, stderr } = await upload(line, ['--no-resume']);
    expect(stderr).toContain(`left unfinished: asset ${session.assetUid}`);
    expect(record.asset_uid).not.toBe(session.assetUid);
    await expectWhole(record);
  });
});

describe('a creation whose answer was lost', () => {
  it('is not repeated: what was found is said, and nothing is guessed', async () => {
    line = await through((seen) => fault(seen));
    fault = ({ method, nth }) =>
      method === 'POST' && nth === 1 ? { loseAnswer: true } : undefined;
    const first = await upload(line);
    expect(first.code).toBe(10);
    expect(journalFiles()).toHaveLength(1);

    const second = await upload(line);
    expect(second.code).toBe(2);
    expect(second.record.error.code).toBe('creation_unknown');
    const [orphan] = second.record.error.details.asset_uids;
    expect(line.methods.filter((method) => method === 'POST')).toHaveLength(1);

    const third = await upload(line, ['--yes']);
    expect(third.stderr).toContain(`left alone: ${orphan}`);
    await expectWhole(third.record);
  });

  it('that made nothing is simply sent again', async () => {
    line = await through((seen) => fault(seen));
    fault = ({ method, nth }) =>
      method === 'POST' && nth === 1
        ? { respond: (_response, request) => void request.socket.destroy() }
        : undefined;
    expect((await upload(line)).code).toBe(10);
    await expectWhole((await upload(line)).record);
  });
});

describe('the checksum', () => {
  const rewriting = (digest: (real: string) => string | undefined) =>
    through((seen) =>
      seen.method === 'PATCH'
        ? {
            headers: ({ 'x-checksum-blake3': real, ...headers }) => {
              const told = real && digest(real);
              return { ...headers, ...(told && { 'x-checksum-blake3': told }) };
            },
          }
        : undefined,
    );

  it.each([
    ['upper-case hex', (real: string) => real.toUpperCase()],
    ['base64', (real: string) => Buffer.from(real, 'hex').toString('base64')],
  ])('is taken in %s', async (_form, digest) => {
    const { record } = await upload(await rewriting(digest));
    await expectWhole(record);
  });

  it('that differs ends 13, names the asset, and says so again the next time', async () => {
    const interposer = await rewriting(() => 'f'.repeat(64));
    const first = await upload(interposer);
    expect(first.code).toBe(13);
    expect(first.record.error).toMatchObject({ code: 'checksum_mismatch' });
    expect(first.record.asset_uid).toMatch(/^[0-9a-f-]{36}$/);
    const second = await upload(interposer);
    expect(second.record.error).toMatchObject({ code: 'checksum_mismatch' });
  });

  it('that is absent leaves it unverified, an error only with --require-checksum', async () => {
    const { code, record } = await upload(await rewriting(() => undefined));
    expect([code, record.verified]).toEqual([0, null]);
    path = join(cli.home, 'other.bin');
    writeSome(path, 1000);
    const strict = await upload(await rewriting(() => undefined), ['--require-checksum']);
    expect(strict.code).toBe(13);
    expect(strict.record.error.code).toBe('unverified');
  });
});

describe('the journal', () => {
  it('truncated: said, kept aside, and the upload runs', async () => {
    const journal = await interruptedAfterTwoChunks();
    truncateSync(journal, 40);
    const { code, record, stderr } = await upload(line);
    expect(code).toBe(0);
    expect(stderr).toContain('is unreadable');
    expect(statSync(`${journal}.corrupt`).size).toBe(40);
    await expectWhole(record);
  });

  it('that cannot be written: said once, and the upload runs', async () => {
    mkdirSync(join(cli.home, 'state'));
    writeFileSync(join(cli.home, 'state/uploads'), 'a file where the folder should be');
    const interposer = await through(() => undefined);
    const ran = await cli.run(['upload', path, '--json', ...chunk], {
      environment: environmentFor(interposer.url),
    });
    expect(ran.code).toBe(0);
    expect(ran.stderr.match(/cannot be resumed/g)).toHaveLength(1);
    expect(stored(JSON.parse(ran.stdout)[0].asset_uid).equals(bytes)).toBe(true);
    expect(readFileSync(join(cli.home, 'state/uploads'), 'utf8')).toContain('a file where');
  });

  it('is 0600 in a folder of 0700, and holds no key', async () => {
    const journal = await interruptedAfterTwoChunks();
    expect(statSync(journal).mode & 0o777).toBe(0o600);
    expect(statSync(join(cli.home, 'state/uploads')).mode & 0o777).toBe(0o700);
    expect(readFileSync(journal, 'utf8')).not.toContain(sandbox.key);
  });
});

it('two at once on one file: one uploads, one leaves', async () => {
  const other: { ran?: Awaited<ReturnType<typeof upload>> } = {};
  const interposer = await through((seen) =>
    seen.method === 'PATCH' && seen.nth === 2
      ? {
          beforeAnswer: async () => {
            other.ran = await upload(interposer);
          },
        }
      : undefined,
  );
  const { code, record } = await upload(interposer);
  expect(code).toBe(0);
  await expectWhole(record);
  expect(other.ran?.code).toBe(6);
  expect(other.ran?.record.error.message).toBe(`already uploading, pid ${process.pid}`);
  expect(interposer.methods.filter((method) => method === 'POST')).toHaveLength(1);
});
