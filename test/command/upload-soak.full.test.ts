import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/error-hints.ts';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { CodedError } from '../../src/client/errors.ts';
import { Cli, type CliResult } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { workspaceUid } from '../support/fake-library.ts';
import { FakeService, type ServiceFault, type ServiceRequest } from '../support/fake-service.ts';
import { writeRandomFile } from '../support/files.ts';
import { Random } from '../support/random.ts';
import { faultsOf } from '../support/service-faults.ts';

const chunkBytes = 64 * 1024;
const sizes = [1, 1000, chunkBytes, chunkBytes + 1, 3 * chunkBytes, 4 * chunkBytes + 17];
/** Runs at most; no faults are injected after the first `faultyRuns`. */
const runs = 9;
const faultyRuns = 6;

/** A soak: a user who repeats the same command until it succeeds, under random faults. */
class SoakUser {
  readonly random: Random;
  readonly cli = new Cli();
  readonly clock = acceleratedClock({ speed: 1000 });
  readonly files = new Map<string, Buffer>();
  readonly output: string[] = [];
  /** Log of events, in order. */
  readonly events: string[] = [];
  key = 'mk_soak_first_key_0123456789';
  service!: FakeService;
  isStdin = false;
  args: string[] = [];
  #faultsLeft = 0;
  #faultProbability = 0;
  #interruption = new AbortController();
  #requestsLeft = Number.POSITIVE_INFINITY;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  async begin(): Promise<void> {
    const { random } = this;
    this.service = await FakeService.start({ shows: ['size'], now: this.clock.now });
    this.service.fault = (request) => {
      if (this.#requestsLeft-- === 0) this.#interrupt();
      return this.#pickFault(request);
    };
    this.#faultsLeft = random.below(10);
    this.#faultProbability = 0.1 + 0.5 * random.next();
    this.isStdin = random.chance(0.2);
    const count = this.isStdin || random.chance(0.6) ? 1 : 2 + random.below(2);
    for (let n = 0; n < count; n++) {
      const path = join(this.cli.home, `rushes ${n}.bin`);
      this.files.set(path, writeRandomFile(path, { size: random.pick(sizes), seed: `${n} ${random.next()}` }));
    }
    this.args = [
      'upload',
      ...(this.isStdin ? ['-', '--name', 'rushes 0.bin'] : this.files.keys()),
      ...['--json', '--workspace', workspaceUid],
      ...['--chunk-size', '64KiB', ...(random.chance(0.4) ? ['--wait'] : [])],
    ];
  }

  #pickFault(request: ServiceRequest): ServiceFault | undefined {
    const faults = faultsOf(request);
    if (faults.length === 0 || this.#faultsLeft === 0 || !this.random.chance(this.#faultProbability)) return undefined;
    const [name, fault] = this.random.pick(faults);
    this.#faultsLeft--;
    this.events.push(`${request.method} ${request.path}: ${name}`);
    return fault;
  }

  #interrupt(): void {
    this.events.push('interrupted');
    this.#interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
  }

  /** Injects a client-side fault: a clock change, a new key, a full disk or Ctrl-C. */
  #injectClientFault(): { stdoutError?: 'ENOSPC' } {
    const { random } = this;
    this.#interruption = new AbortController();
    this.#requestsLeft = Number.POSITIVE_INFINITY;
    if (random.chance(0.2)) this.#requestsLeft = random.below(8);
    if (random.chance(0.15)) {
      this.events.push('a day later');
      this.clock.advance(25 * 60 * 60 * 1000);
    }
    if (random.chance(0.1)) {
      this.events.push('another key');
      this.key = `mk_soak_key_${random.next()}`;
    }
    if (!random.chance(0.1)) return {};
    this.events.push('stdout is full');
    return { stdoutError: 'ENOSPC' };
  }

  async run(isLast: boolean, last: CliResult | undefined): Promise<CliResult> {
    const clientFault = isLast ? this.#stopFaults() : this.#injectClientFault();
    const isYesNeeded = last?.stderr.includes('--yes') === true;
    const ran = await this.cli.run([...this.args, ...(isYesNeeded ? ['--yes'] : [])], {
      clock: this.clock,
      environment: { MEDIACTL_API_KEY: this.key, MEDIACTL_BASE_URL: this.service.url },
      ...(this.isStdin && { stdin: [...this.files.values()][0] as Buffer }),
      signal: this.#interruption.signal,
      ...clientFault,
    });
    this.output.push(ran.stdout, ran.stderr);
    this.events.push(`exit ${ran.code}: ${ran.stderr.slice(0, 800)}`);
    return ran;
  }

  #stopFaults() {
    this.#faultsLeft = 0;
    this.#interruption = new AbortController();
    this.#requestsLeft = Number.POSITIVE_INFINITY;
    return {};
  }

  /** Expects that every reported result is true and that no secret or internal error is printed. */
  check({ code, stdout, stderr }: CliResult): void {
    expect(stderr).not.toMatch(/unclassified|report it|TypeError/);
    expect(stdout + stderr).not.toContain(this.key);
    if (code !== 0) return;
    const items: UploadRecord[] = JSON.parse(stdout);
    expect(items.map(({ error }) => error)).toEqual([...this.files].map(() => null));
    for (const [path, bytes] of this.files) {
      const item = this.isStdin ? items[0] : items.find((each) => each.path === path);
      const { asset_uid: uid, verified } = item as UploadRecord;
      const stored = this.service.assets.get(uid as string);
      // Bytes corrupted in transit whose checksum was lost must not be reported as verified.
      const isRight = stored?.bytes.equals(bytes) || (verified === null && stored?.isCorrupted === true);
      expect([basename(path), verified, isRight]).toEqual([basename(path), verified, true]);
      expect(verified).not.toBe(false);
    }
  }

  /** Returns the assets that neither a run nor `uploads cleanup` has named. */
  async findUnnamedAssets(): Promise<string[]> {
    const environment = { MEDIACTL_API_KEY: this.key, MEDIACTL_BASE_URL: this.service.url };
    const { stdout } = await this.cli.run(['uploads', 'cleanup'], { clock: this.clock, environment });
    const output = [...this.output, stdout].join('\n');
    return [...this.service.assets.keys()].filter((uid) => !output.includes(uid));
  }
}

/** True if the run succeeded or needs the user: the stored bytes belong to another version of a file (13). */
function isFinal({ code, stderr }: CliResult): boolean {
  const { ok, integrity, partial } = exitCodes;
  if (code !== partial) return code === ok || code === integrity;
  const { details } = JSON.parse(stderr.trim().split('\n').at(-1) as string).error;
  return details.every(({ exit_code }: { exit_code: number }) => exit_code === integrity);
}

it.each(Array.from({ length: 400 }, (_, n) => n + 1))(
  'upload completes or reports the error after random faults (seed %i)',
  async (seed) => {
    const user = new SoakUser(seed);
    await user.begin();
    let ran: CliResult | undefined;
    try {
      for (let n = 1; n <= runs && !(ran && isFinal(ran)); n++) {
        ran = await user.run(n > faultyRuns, ran);
        user.check(ran);
      }
      expect(ran && isFinal(ran)).toBe(true);
      expect(await user.findUnnamedAssets()).toEqual([]);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n\n${user.args.join(' ')}\n${user.events.join('\n')}`);
    }
  },
);
