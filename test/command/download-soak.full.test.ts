import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { Random } from '../support/random.ts';

const uid = '00000000-0000-4000-8000-000000000001';
const modified = ['Sat, 01 Mar 2025 00:00:00 GMT', 'Sun, 02 Mar 2025 00:00:00 GMT'];
const today = 'Sat, 21 Nov 2026 00:00:00 GMT';

/** Faulty CDN: two versions of a file, and random faults of its responses. */
class FaultyCdn {
  readonly random: Random;
  readonly versions: [Buffer, Buffer];
  readonly log: string[] = [];
  /** Validators and features that this CDN supports. */
  readonly supports: { etag: boolean; modified: boolean; length: boolean; ranges: boolean };
  current: 0 | 1 = 0;
  #faultsLeft: number;

  constructor(random: Random) {
    this.random = random;
    const size = random.pick([1, 1000, 70_000, 300_000]);
    const other = random.chance(0.5) ? size : size + 1 + random.below(1000);
    this.versions = [pseudoRandomBytes(size, 'first'), pseudoRandomBytes(other, 'second')];
    const [etag, dated] = [random.chance(0.7), random.chance(0.5)];
    this.supports = { etag, modified: dated, length: random.chance(0.9), ranges: random.chance(0.8) };
    this.#faultsLeft = random.below(6);
  }

  serve({ headers }: IncomingMessage, response: ServerResponse): void {
    const { random, supports } = this;
    const fault = this.#faultsLeft > 0 && random.chance(0.7) ? this.#pick() : undefined;
    const bytes = this.versions[this.current];
    const etag = `"${this.current}"`;
    const sentHeaders: Record<string, string> = {
      'content-type': 'video/mp4',
      date: today,
      ...(supports.etag && { etag }),
      ...(supports.modified && { 'last-modified': modified[this.current] as string }),
    };
    if (fault === 'web page') return void respond(response, 200, '<html>', { 'content-type': 'text/html' });
    if (fault === 'busy') return void respond(response, 503, 'busy');
    if (fault === 'limit') return void respond(response, 429, '', { 'retry-after': '1' });
    if (fault === 'gzip') sentHeaders['content-encoding'] = 'gzip';
    const requestedOffset = /^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1];
    const isSame = [undefined, etag, sentHeaders['last-modified']].includes(headers['if-range'] as string | undefined);
    const isPart = requestedOffset !== undefined && (fault === 'wrong part' || (supports.ranges && isSame));
    const from = isPart ? Number(requestedOffset) : 0;
    const shift = fault === 'wrong part' && from > 0 ? -1 : 0;
    const end = fault === 'short part' ? from + Math.ceil((bytes.length - from) / 2) : bytes.length;
    const body = bytes.subarray(from + shift, isPart ? end : bytes.length);
    if (isPart) {
      const last = from + shift + body.length - 1;
      sentHeaders['content-range'] = `bytes ${from + shift}-${last}/${bytes.length}`;
    }
    if (supports.length || isPart) sentHeaders['content-length'] = String(body.length);
    response.writeHead(isPart ? 206 : 200, sentHeaders);
    if (fault !== 'cut') return void response.end(body);
    const some = body.subarray(0, random.below(body.length + 1));
    response.write(some, () => setTimeout(() => response.destroy(), 5));
  }

  #pick(): string {
    this.#faultsLeft--;
    const fault = this.random.pick([
      ...['cut', 'cut', 'cut', 'another version', 'web page', 'busy', 'limit', 'gzip'],
      ...['wrong part', 'short part'],
    ]);
    this.log.push(fault);
    if (fault !== 'another version') return fault;
    this.current = 1;
    return this.random.pick(['cut', 'none']);
  }
}

it.each(Array.from({ length: 400 }, (_, n) => n + 1))(
  'download from a faulty CDN leaves a complete file or none: seed %i',
  async (seed) => {
    const random = new Random(seed);
    const cli = new Cli({ MEDIACTL_API_KEY: 'mk_soak_key_0123456789' });
    const cdn = new FaultyCdn(random);
    const recordedSize = random.pick([cdn.versions[0].length, undefined]);
    const interruption = new AbortController();
    let requestsLeft = random.chance(0.2) ? random.below(4) : Number.POSITIVE_INFINITY;
    const service = await startServer((request, response) => {
      if (requestsLeft-- === 0) interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
      if (request.url?.startsWith('/media')) return cdn.serve(request, response);
      respond(response, 200, {
        uid,
        name: 'film',
        playback_token: 'a.token',
        type: 'video',
        size: recordedSize,
        content_type: 'video/mp4',
        source_url: { url: `${service}/media` },
      });
    });
    const path = join(cli.home, 'film.mp4');
    const hasOldFile = random.chance(0.3);
    if (hasOldFile) writeFileSync(path, 'what was there before');
    const { code, stderr } = await cli.run(['assets', 'download', uid, '-o', path, '--yes'], {
      environment: { MEDIACTL_BASE_URL: service },
      clock: acceleratedClock({ speed: 1000 }),
      signal: interruption.signal,
    });
    const details = [seed, cdn.supports, recordedSize, cdn.log, code, stderr];
    expect(stderr, JSON.stringify(details)).not.toMatch(/unclassified|report it|mk_soak/);
    const saved = existsSync(path) ? readFileSync(path) : undefined;
    const [first, second] = cdn.versions;
    const isWhole = saved !== undefined && [first, second].some((version) => version.equals(saved));
    if (code === 0) expect(isWhole, JSON.stringify(details)).toBe(true);
    else expect(saved?.toString(), JSON.stringify(details)).toBe(hasOldFile ? 'what was there before' : undefined);
    const temporaryFiles = (readdirSync(cli.home, { recursive: true }) as string[]).filter((name) =>
      /\.part$|downloads\/./.test(name),
    );
    expect(temporaryFiles, JSON.stringify(details)).toEqual([]);
  },
);
