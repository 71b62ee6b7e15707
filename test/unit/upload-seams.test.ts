import { expect, it } from 'vitest';
import { Api } from '../../src/client/api/api.ts';
import { systemClock } from '../../src/client/clock.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { type BatchDeps, BatchUploader } from '../../src/client/upload/batch/batch-uploader.ts';
import type { FileEvent } from '../../src/client/upload/session/events.ts';
import type { FileOutcome } from '../../src/client/upload/session/file-outcome.ts';
import type { UploadSource } from '../../src/client/upload/sources/source.ts';
import { Spool } from '../../src/client/upload/sources/spool.ts';
import type { UploadJournal } from '../../src/client/upload/store/journal.ts';
import type { JournalEntry } from '../../src/client/upload/store/journal-entry.ts';
import { someBytes } from '../support/files.ts';
import { answer, listen } from '../support/http-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

/* What a fleet of machines will put in the place of this machine's journal, files and requests. */

const uid = '00000000-0000-4000-8000-000000000001';
const location = `/api/external/v1/upload/${uid}/`;
const MiB = 1024 * 1024;

/** A journal that is no folder: a write takes as long as it likes, and is there afterwards. */
function journalInMemory(writeMs = 0): UploadJournal & { pages: Map<string, JournalEntry> } {
  const pages = new Map<string, JournalEntry>();
  return {
    pages,
    directory: 'memory',
    read: async (id) => structuredClone(pages.get(id)),
    list: async () => [...pages.values()],
    write: async (entry) => {
      const kept = structuredClone(entry);
      await systemClock.sleep(writeMs);
      pages.set(kept.id, kept);
    },
    remove: async (id) => void pages.delete(id),
    ids: async () => [...pages.keys()],
    setAside: async (id) => id,
    lock: async () => async () => {},
    sweep: async () => {},
  };
}

/** Bytes that lie on no disk. */
function sourceOf(path: string, sizeBytes: number): UploadSource {
  const block = someBytes(MiB, path);
  return {
    path,
    realPath: path,
    sizeBytes,
    identity: { sizeBytes, mtimeNs: '0' },
    async *read(start, end, { onRead, assertUnchanged } = {}) {
      for (let at = start; at < end; ) {
        const from = at % MiB;
        const bytes = block.subarray(from, Math.min(MiB, from + end - at));
        onRead?.(at, bytes);
        at += bytes.length;
        if (at >= end) await assertUnchanged?.();
        yield bytes;
      }
    },
    assertUnchanged: async () => {},
    close: async () => {},
  };
}

/** A service that counts what it is sent. */
async function counting() {
  let stored = 0;
  return listen(async (request, response) => {
    if (request.method === 'POST')
      return answer(response, 201, { uid, asset_uid: uid, location }, { location });
    if (request.method === 'PATCH') for await (const part of request) stored += part.length;
    const limit = {
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '900',
      'x-ratelimit-reset': '60',
    };
    answer(response, 204, undefined, { 'upload-offset': String(stored), ...limit });
  });
}

async function upload(journal: UploadJournal, sizeBytes: number, more: Partial<BatchDeps> = {}) {
  const transport = new Transport({
    ...{ baseUrl: new URL(await counting()), apiKey: 'a-key', clock: systemClock },
    ...{ userAgent: 'test', requestTimeoutMs: 30_000, maxWaitMs: 60_000 },
  });
  const run = new BatchUploader(
    {
      ...{ chunkBytes: 50 * MiB, idleTimeoutMs: 30_000, again: false, same: 'skip' as const },
      ...{ onExpired: 'restart' as const, requireChecksum: false },
      ...{ workspace: uid, parallel: 1, about: {} },
    },
    {
      ...{ api: new Api(transport, {}), journal, profile: 'none', receiptMark: 0 },
      spool: new Spool(temporaryFolder()),
      stdin: () => process.stdin,
      onEvent: () => {},
      onPlan: async () => {},
      folders: { find: () => undefined, findOrCreate: async () => undefined },
      contentType: () => undefined,
      openSource: async (path) => sourceOf(path, sizeBytes),
      onUploaded: async () => {},
      findOrphans: async () => ({ assets: [], isComplete: true }),
      confirmNewAsset: async (refusal) => {
        throw refusal;
      },
      ...more,
    },
  );
  const resumable = { id: 'given-by-others', workspace: uid, filename: 'mov' };
  const outcomes: FileOutcome[] = [];
  for await (const some of run.outcomes([{ path: 'far/away.mov', relativeDir: '', resumable }]))
    outcomes.push(...some);
  await transport.close();
  return { outcomes };
}

it('another journal, another source and an id of others carry an upload', async () => {
  const journal = journalInMemory();
  const { outcomes } = await upload(journal, 3 * MiB);
  const [outcome] = outcomes;
  expect(outcome).toMatchObject({ id: 'given-by-others', uploaded: { sizeBytes: 3 * MiB } });
  expect(journal.pages.get('given-by-others')).toMatchObject({ state: 'whole' });
  // POST, PATCH, and the second look at what no checksum was told of.
  expect(outcome?.requests).toBe(4);
});

it('no byte leaves before the journal says that it may have: on the disk, however slow that is', async () => {
  const journal = journalInMemory(150);
  const ahead: [sent: number, kept: number][] = [];
  const onEvent = (event: FileEvent) => {
    const page = journal.pages.get('given-by-others');
    if (event.event !== 'progress' || page?.state !== 'open') return;
    if (event.sent_bytes > page.sentTo) ahead.push([event.sent_bytes, page.sentTo]);
  };
  const { outcomes } = await upload(journal, 400 * MiB, { onEvent });
  expect(outcomes[0]?.error).toBeUndefined();
  expect(ahead).toEqual([]);
});
