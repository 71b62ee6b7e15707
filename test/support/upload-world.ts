import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { Cli, type CliOptions } from './cli.ts';
import { fastClock } from './clock.ts';
import { writeSome } from './files.ts';
import { answering, type Fault, Interposer, type Seen } from './interposer.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';

/** Small chunks: the faults are the same, the files are not. */
export const chunkBytes = 64 * 1024;
const chunk = ['--chunk-size', '64KiB'];

type Plan = (seen: Seen) => Fault | undefined;

/** What the tests of the uploader share: a sandbox a file, and a user with a file of a few chunks a test. */
class UploadWorld {
  sandbox!: TestSandbox;
  cli!: Cli;
  path = '';
  bytes: Buffer = Buffer.alloc(0);
  /** What goes wrong on `line` from now on. */
  fault: Plan = () => undefined;
  /** One address for all runs of a test, since the journal goes by it. */
  line!: Interposer;

  async begin(): Promise<void> {
    this.cli = new Cli();
    this.path = join(this.cli.home, `rushes-${basename(this.cli.home)}.bin`);
    this.bytes = writeSome(this.path, 4 * chunkBytes + 1000, this.path);
    this.fault = () => undefined;
    this.line = await this.through((seen) => this.fault(seen));
  }

  environment(url = this.line.url) {
    return {
      MEDIACTL_API_KEY: this.sandbox.key,
      MEDIACTL_BASE_URL: url,
      MEDIACTL_WORKSPACE: this.sandbox.workspace,
    };
  }

  through(plan: Plan): Promise<Interposer> {
    return Interposer.before(this.sandbox.url, plan);
  }

  /** Uploads over the line, on a fast clock unless told otherwise. */
  async upload(args: string[] = [], options: CliOptions = {}) {
    const ran = await this.run(['upload', this.path, '--json', ...chunk, ...args], options);
    const [record] = ran.stdout ? JSON.parse(ran.stdout) : [];
    return { ...ran, record };
  }

  /** Any command over the line, on a fast clock unless told otherwise. */
  run(args: string[], options: CliOptions = {}) {
    return this.cli.run(args, {
      clock: fastClock(),
      ...options,
      environment: { ...this.environment(), ...options.environment },
    });
  }

  /** What is kept of stdin. */
  spooled(): string[] {
    const folder = join(this.cli.home, 'state/spool');
    return readdirSync(folder).filter((name) => !name.includes('.'));
  }

  /** What the sandbox holds of an asset, byte for byte. */
  stored(assetUid: string): Buffer {
    return readFileSync(join(this.sandbox.dataDir, 'media', assetUid, 'source'));
  }

  /** Every asset that the service has by the name of this test's file. */
  async assets(name = basename(this.path)): Promise<{ uid: string; status: string }[]> {
    const found = [];
    for (let offset = 0; ; offset += 100) {
      const response = await fetch(
        `${this.sandbox.url}/api/external/v1/assets/?limit=100&offset=${offset}`,
        { headers: { authorization: `Bearer ${this.sandbox.key}` } },
      );
      const { items } = (await response.json()) as {
        items: { uid: string; name: string; status: string }[];
      };
      found.push(...items.filter((item) => item.name === name));
      if (items.length < 100) return found;
    }
  }

  get journalFolder(): string {
    return join(this.cli.home, 'state/uploads');
  }

  journalFiles(): string[] {
    if (!existsSync(this.journalFolder)) return [];
    return readdirSync(this.journalFolder).filter((name) => name.endsWith('.json'));
  }

  get journalPath(): string {
    return join(this.journalFolder, this.journalFiles()[0] as string);
  }

  /** The only page of the journal. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what it is
  entry(): any {
    return JSON.parse(readFileSync(this.journalPath, 'utf8'));
  }

  async expectWhole(record: { asset_uid: string; verified: boolean | null }): Promise<void> {
    expect(record).toMatchObject({ verified: true, error: null });
    expect(this.stored(record.asset_uid).equals(this.bytes)).toBe(true);
    expect(this.journalFiles()).toEqual([]);
  }

  patches(): Seen[] {
    return this.line.seen.filter(({ method }) => method === 'PATCH');
  }

  /** Leaves an upload after two chunks, and its page in the journal. */
  async interruptedAfterTwoChunks(): Promise<string> {
    let patches = 0;
    this.fault = ({ method }) =>
      method === 'PATCH' && ++patches === 3 ? answering(402, { error: {} }) : undefined;
    const { code } = await this.upload();
    expect(code).toBe(7);
    this.fault = () => undefined;
    this.line.seen.length = 0;
    return this.journalPath;
  }
}

export function uploadWorld(): UploadWorld {
  const world = new UploadWorld();
  beforeAll(async () => {
    world.sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => world.sandbox.end());
  beforeEach(() => world.begin());
  return world;
}
