import type { Dropped, UploadState } from '../protocol.ts';
import type { Hub } from './hub.ts';
import type { Library } from './library.ts';
import { PageProblem } from './page-problem.ts';

/** Often enough for a bar. */
const tellEveryBytes = 1024 * 1024;

/**
 * Takes a file that was dropped onto the page, and uploads it; every page is told how it does.
 *
 * @returns once all of it has come, or it has failed: what becomes of it then, the hub tells
 */
export async function take(
  library: Library,
  hub: Hub,
  query: URLSearchParams,
  body: ReadableStream<Uint8Array> | null,
): Promise<void> {
  const file = droppedIn(query);
  const id = query.get('id')?.slice(0, 100) || file.name;
  let upload: UploadState = {
    ...{ id, name: file.name, state: 'taking', doneBytes: 0, sizeBytes: file.sizeBytes },
  };
  const tell = (change: Partial<UploadState>) => {
    upload = { ...upload, ...change };
    hub.publish({ kind: 'upload', upload });
  };
  tell({});
  let hasCome = () => {};
  const come = new Promise<void>((resolve) => {
    hasCome = resolve;
  });
  const sent = library
    .send(file, counted(file, body, tell, hasCome), ({ state, sentBytes }) =>
      tell({ state, doneBytes: sentBytes }),
    )
    .then(
      ({ how, assetUid }) =>
        tell({
          state: how === 'uploaded' ? 'uploaded' : 'there',
          ...{ doneBytes: file.sizeBytes, assetUid },
        }),
      (error) => {
        const { problem, reason, hint } = PageProblem.in(error) ?? library.explain(error);
        tell({ state: 'failed', problem: [problem, reason, hint].filter(Boolean).join('; ') });
      },
    );
  await Promise.race([come, sent]);
}

/** What was begun and did not come whole is no file. */
async function* counted(
  { sizeBytes }: Dropped,
  body: ReadableStream<Uint8Array> | null,
  tell: (change: Partial<UploadState>) => void,
  hasCome: () => void,
): AsyncGenerator<Uint8Array> {
  let [taken, told] = [0, 0];
  try {
    for await (const part of body ?? []) {
      taken += part.length;
      if (taken - told >= tellEveryBytes) {
        tell({ doneBytes: taken });
        told = taken;
      }
      yield part;
    }
  } catch {
    throw new PageProblem('the page was left before the file had arrived; drop it again');
  }
  if (taken !== sizeBytes)
    throw new PageProblem(`${taken} of ${sizeBytes} bytes came from the page`);
  if (taken === 0) throw new PageProblem('there is nothing in the file');
  hasCome();
}

/** Names as they are on the disk of whoever drops them; nothing in them leads anywhere else. */
function droppedIn(query: URLSearchParams): Dropped {
  const parts = (query.get('below') ?? '').split('/').filter((part) => !/^\.{0,2}$/.test(part));
  return {
    name: (query.get('name') ?? '').replaceAll('/', ' ').slice(0, 500) || 'file',
    below: parts.join('/'),
    folder: query.get('folder') || null,
    sizeBytes: Number(query.get('size')) || 0,
  };
}
