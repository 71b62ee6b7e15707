import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  dropConnection,
  FakeService,
  handleThen,
  respondWithError,
  type ServiceFault,
} from '../support/fake-service.ts';
import { isFullRun } from '../support/full-run.ts';
import { writeManyFiles } from '../support/many-files.ts';
import { Random, seedsOf } from '../support/random.ts';
import { mediactl } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Limits the number of requests, which the rate limit makes the main cost of uploading many files. */

const fileCount = isFullRun ? 1000 : 80;

/** A user with a directory of files, who runs mediactl processes against one service. */
class Uploader {
  readonly home = temporaryFolder();
  readonly folder = join(this.home, 'shots');
  readonly digests: Map<string, string>;
  readonly service: FakeService;

  constructor(service: FakeService, files: { count: number; bytes?: number }) {
    this.service = service;
    this.digests = writeManyFiles(this.folder, files);
  }

  startUpload(...args: string[]) {
    return mediactl(['upload', '--flatten', this.folder, '--jsonl', '--progress', 'none', ...args], {
      ...this.service.environment,
      MEDIACTL_STATE_DIR: join(this.home, 'state'),
      MEDIACTL_CONFIG_DIR: join(this.home, 'config'),
    });
  }

  /** Expects exactly one complete asset per file, byte for byte; other assets must be named in the output. */
  expectOneAssetPerFile(output = ''): void {
    const whole = this.service.completeAssets.map(({ name, blake3 }) => [name, blake3]);
    expect(whole.sort()).toEqual([...this.digests].sort());
    const left = [...this.service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
    expect(left.filter(({ uid }) => !output.includes(uid))).toEqual([]);
  }
}

const countOutcomes = (stdout: string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const line of stdout.split('\n').filter(Boolean)) {
    const { outcome } = JSON.parse(line);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
};

describe('number of requests', () => {
  it('upload --wait of 80 files sends at most 2.2 requests per file, and a second run sends none', async () => {
    const service = await FakeService.start({ readyAfterMs: 1500 });
    const uploader = new Uploader(service, { count: 80, bytes: 200_000 });
    const firstRun = await uploader.startUpload('--transfers', '6', '--wait').finished;
    expect([firstRun.code, firstRun.stderr]).toEqual([0, '']);
    expect(service.requestCount).toBeLessThanOrEqual(2.2 * 80);
    uploader.expectOneAssetPerFile();
    service.requestCount = 0;
    const secondRun = await uploader.startUpload('--wait').finished;
    expect([secondRun.code, countOutcomes(secondRun.stdout), service.requestCount]).toEqual([0, { skipped: 80 }, 0]);
  });

  it(`upload --wait of ${fileCount} files that become ready in turn sends at most 2.2 requests per file`, async () => {
    const service = await FakeService.start({ readyAfterMs: isFullRun ? 60_000 : 4_000 });
    const uploader = new Uploader(service, { count: fileCount });
    const { code } = await uploader.startUpload('--wait').finished;
    expect(code).toBe(0);
    expect(service.requestCount).toBeLessThanOrEqual(2.2 * fileCount);
  }, 300_000);

  it('two processes share a rate limit without failures and with at most one 429 per window', async () => {
    const limit = isFullRun ? { requests: 300, windowMs: 10_000 } : { requests: 60, windowMs: 2_000 };
    const service = await FakeService.start({ limit });
    const uploaders = [
      new Uploader(service, { count: fileCount / 2 }),
      new Uploader(service, { count: fileCount / 2 }),
    ];
    const results = await Promise.all(uploaders.map((uploader) => uploader.startUpload().finished));
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    expect(service.completeAssets).toHaveLength(fileCount);
    expect(Math.max(0, ...service.refusedByWindow.values())).toBeLessThanOrEqual(1);
  }, 300_000);
});

it('upload --wait with --name and several files exits with 2 before it sends a request', async () => {
  const service = await FakeService.start();
  const uploader = new Uploader(service, { count: 3 });
  const { code, stderr } = await uploader.startUpload('--wait', '--name', 'x').finished;
  expect([code, service.requestCount]).toEqual([2, 0]);
  expect(stderr).toContain('--name works with a single file');
});

describe('outage', () => {
  it('an upload survives an outage of some seconds and creates each asset once', async () => {
    const service = await FakeService.start();
    const uploader = new Uploader(service, { count: fileCount });
    let hasOutageBegun = false;
    const outageMs = isFullRun ? 5_000 : 2_500;
    service.fault = ({ nth }) => {
      if (nth < fileCount || hasOutageBegun) return undefined;
      hasOutageBegun = true;
      service.stop();
      setTimeout(() => void service.listen(), outageMs);
      return undefined;
    };
    const { code, stdout, stderr } = await uploader.startUpload().finished;
    expect([code, countOutcomes(stdout), hasOutageBegun]).toEqual([0, { uploaded: fileCount }, true]);
    uploader.expectOneAssetPerFile(stderr);
  });
});

describe('concurrent runs', () => {
  /** Checks that runs succeeded, or exited with 11 only because another one was still uploading a file at their end. */
  const expectNoFailures = (results: readonly { code: number | null; stderr: string }[]) => {
    for (const { code, stderr } of results)
      expect([code, stderr]).toEqual(code === 0 ? [0, stderr] : [11, expect.stringMatching(/left to another run/)]);
  };

  it('two uploads of the same files at once create each asset once', async () => {
    const service = await FakeService.start({ latencyMs: 5 });
    const uploader = new Uploader(service, { count: fileCount });
    const firstRun = uploader.startUpload();
    while (service.completeAssets.length < fileCount / 3) await new Promise((resolve) => setTimeout(resolve, 10));
    const secondResult = await uploader.startUpload().finished;
    const firstResult = await firstRun.finished;
    expectNoFailures([firstResult, secondResult]);
    uploader.expectOneAssetPerFile();
    expect(service.assets.size).toBe(fileCount);
  });

  const processes = isFullRun ? 24 : 6;
  it(`${processes} uploads of the same files at once create the target folder and each asset once`, async () => {
    const service = await FakeService.start({ latencyMs: 20 });
    const uploader = new Uploader(service, { count: isFullRun ? 200 : 60 });
    const startUpload = () => uploader.startUpload('--folder', '/rushes', '--create-folders').finished;
    const results = await Promise.all(Array.from({ length: processes }, startUpload));
    expectNoFailures(results);
    uploader.expectOneAssetPerFile();
    expect(service.assets.size).toBe(uploader.digests.size);
    expect(service.folders.map(({ name }) => name)).toEqual(['rushes']);
  }, 300_000);
});

describe('kill -9 and faults', () => {
  const kills = isFullRun ? 8 : 5;
  it.each(seedsOf({ quick: 1, full: 20, first: 7001 }))(
    `with seed %i, an upload that is killed ${kills} times creates each asset once when it is run again`,
    async (seed) => {
      const random = new Random(seed);
      const service = await FakeService.start();
      const uploader = new Uploader(service, { count: isFullRun ? 300 : 60 });
      let output = '';
      for (let kill = 0; kill < kills; kill++) {
        const run = uploader.startUpload();
        const killAtRequest = service.requestCount + 1 + random.below((2 * uploader.digests.size) / kills);
        service.fault = () => {
          if (service.requestCount >= killAtRequest) run.child.kill('SIGKILL');
          return undefined;
        };
        const { signal, stderr } = await run.finished;
        expect(signal).toBe('SIGKILL');
        output += stderr;
      }
      service.fault = () => undefined;
      const lastRun = await uploader.startUpload().finished;
      expect([lastRun.code, lastRun.signal], lastRun.stderr).toEqual([0, null]);
      uploader.expectOneAssetPerFile(output + lastRun.stderr);
    },
    120_000,
  );

  it('an upload with repeated kills and server errors creates each asset once and names incomplete ones', async () => {
    const random = new Random(7);
    const service = await FakeService.start();
    const uploader = new Uploader(service, { count: fileCount });
    const faults: ServiceFault[] = [
      dropConnection,
      handleThen(dropConnection),
      respondWithError(500),
      respondWithError(502),
    ];
    service.fault = ({ nth }) => (nth % 10 === 0 ? random.pick(faults) : undefined);
    let output = '';
    for (let round = 0; round < (isFullRun ? 10 : 3); round++) {
      const run = uploader.startUpload();
      const killAtRequest = service.requestCount + random.below(fileCount / 3);
      while (service.requestCount < killAtRequest && run.child.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 5));
      run.child.kill('SIGKILL');
      output += (await run.finished).stderr;
    }
    service.fault = () => undefined;
    const lastRun = await uploader.startUpload().finished;
    expect(lastRun.code).toBe(0);
    const cleanup = await mediactl(['uploads', 'cleanup', '--jsonl'], {
      ...service.environment,
      MEDIACTL_STATE_DIR: join(uploader.home, 'state'),
    }).finished;
    uploader.expectOneAssetPerFile(output + lastRun.stderr + cleanup.stdout);
  }, 300_000);
});

describe('memory', () => {
  it('uploading many files needs no more memory than uploading a few', {
    tags: 'Linux',
    timeout: 180_000,
  }, async () => {
    const service = await FakeService.start();
    const uploader = new Uploader(service, { count: isFullRun ? 10_000 : 600, bytes: 500 });
    let peakMiB = 0;
    const started = uploader.startUpload();
    service.fault = ({ nth }) => {
      if (nth % 50 !== 0) return undefined;
      const status = readFileSync(`/proc/${started.child.pid}/status`, 'utf8');
      peakMiB = Math.max(peakMiB, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
      return undefined;
    };
    expect((await started.finished).code).toBe(0);
    expect(peakMiB).toBeGreaterThan(50);
    expect(peakMiB).toBeLessThan(isFullRun ? 220 : 160);
  });
});
