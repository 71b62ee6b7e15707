import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { Cli, type CliOptions } from './cli.ts';
import { acceleratedClockInProcess } from './clock.ts';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from './fault-proxy.ts';
import { writeRandomFile } from './files.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';
import { readStoredUploads, storedUploadTexts } from './state-database.ts';

/** Small chunks, so that small files have several of them. */
export const chunkBytes = 64 * 1024;
const chunk = ['--chunk-size', '64KiB'];

type FaultPlan = (seen: ProxiedRequest) => Fault | undefined;

/** Fixture of uploader tests: one sandbox per test file; a new user with a file of five chunks per test. */
class UploadFixture {
  sandbox!: TestSandbox;
  cli!: Cli;
  path = '';
  bytes: Buffer = Buffer.alloc(0);
  /** Selects the fault of each request through `faultProxy`, if any. */
  fault: FaultPlan = () => undefined;
  /** Proxy before the sandbox; one for all runs of a test, since stored uploads depend on its URL. */
  faultProxy!: FaultProxy;

  async setUp(): Promise<void> {
    this.cli = new Cli();
    this.path = join(this.cli.home, `rushes-${basename(this.cli.home)}.bin`);
    this.bytes = writeRandomFile(this.path, { size: 4 * chunkBytes + 1000, seed: this.path });
    this.fault = () => undefined;
    this.faultProxy = await this.startFaultProxy((seen) => this.fault(seen));
  }

  environment(url = this.faultProxy.url) {
    return { MEDIACTL_API_KEY: this.sandbox.key, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: this.sandbox.workspace };
  }

  startFaultProxy(plan: FaultPlan): Promise<FaultProxy> {
    return FaultProxy.start(this.sandbox.url, plan);
  }

  /** Uploads the file through `faultProxy`, on a fast clock by default. */
  async upload(args: string[] = [], options: CliOptions = {}) {
    const ran = await this.run(['upload', this.path, '--json', ...chunk, ...args], options);
    const [record] = ran.stdout ? JSON.parse(ran.stdout) : [];
    return { ...ran, record };
  }

  /** Runs any command through `faultProxy`, on a fast clock by default. */
  run(args: string[], options: CliOptions = {}) {
    return this.cli.run(args, {
      clock: acceleratedClockInProcess(),
      ...options,
      environment: { ...this.environment(), ...options.environment },
    });
  }

  /** Lists the files to which stdin was spooled. */
  spoolFiles(): string[] {
    const folder = join(this.cli.home, 'state/spool');
    return readdirSync(folder).filter((name) => !name.includes('.'));
  }

  /** Reads the stored bytes of an asset. */
  storedBytes(assetUid: string): Buffer {
    return readFileSync(join(this.sandbox.dataDir, 'media', assetUid, 'source'));
  }

  /** Lists the assets with this name; by default the name of the test's file. */
  async findAssets(name = basename(this.path)): Promise<{ uid: string; status: string }[]> {
    const found = [];
    for (let offset = 0; ; offset += 100) {
      const response = await fetch(`${this.sandbox.url}/api/external/v1/assets/?limit=100&offset=${offset}`, {
        headers: { authorization: `Bearer ${this.sandbox.key}` },
      });
      const { items } = (await response.json()) as {
        items: { uid: string; name: string; status: string }[];
      };
      found.push(...items.filter((item) => item.name === name));
      if (items.length < 100) return found;
    }
  }

  get stateDir(): string {
    return join(this.cli.home, 'state');
  }

  /** Returns the ids of the unfinished uploads. */
  unfinishedIds(): string[] {
    return [...storedUploadTexts(this.stateDir).keys()];
  }

  /** Returns the stored entry of the only unfinished upload. */
  storedEntry() {
    const [entry, ...others] = readStoredUploads(this.stateDir);
    expect(others).toEqual([]);
    return entry;
  }

  async expectUploaded(record: { asset_uid: string; verified: boolean | null }): Promise<void> {
    expect(record).toMatchObject({ verified: true, error: null });
    expect(this.storedBytes(record.asset_uid).equals(this.bytes)).toBe(true);
    expect(this.unfinishedIds()).toEqual([]);
  }

  patchRequests(): ProxiedRequest[] {
    return this.faultProxy.requests.filter(({ method }) => method === 'PATCH');
  }

  /** Interrupts an upload after two chunks. @returns its id */
  async interruptAfterTwoChunks(): Promise<string> {
    let patches = 0;
    this.fault = ({ method }) => (method === 'PATCH' && ++patches === 3 ? respondWith(402, { error: {} }) : undefined);
    const { code } = await this.upload();
    expect(code).toBe(7);
    this.fault = () => undefined;
    this.faultProxy.requests.length = 0;
    return readStoredUploads(this.stateDir).find(({ path }) => path === this.path).id;
  }
}

export function setUpUploader(): UploadFixture {
  const fixture = new UploadFixture();
  beforeAll(async () => {
    fixture.sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => fixture.sandbox.end());
  beforeEach(() => fixture.setUp());
  return fixture;
}
