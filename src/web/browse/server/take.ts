import type { Dropped, UploadState } from '../protocol.ts';
import type { Hub } from './hub.ts';
import type { Library } from './library.ts';
import { PageProblem } from './page-problem.ts';

/** Interval of progress events while a file arrives from the page. */
const tellEveryBytes = 1024 * 1024;

/**
 * Receives a dropped file and uploads it; broadcasts its progress to every open page.
 *
 * @returns once the file has arrived or failed; later results come as events
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

/** Counts bytes and reports progress. @throws BadRequestError if the page did not send the whole file */
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

/** Parses the metadata of a dropped file. Sanitizes its names against path traversal. */
function droppedIn(query: URLSearchParams): Dropped {
  const parts = (query.get('below') ?? '').split('/').filter((part) => !/^\.{0,2}$/.test(part));
  return {
    name: (query.get('name') ?? '').replaceAll('/', ' ').slice(0, 500) || 'file',
    below: parts.join('/'),
    folder: query.get('folder') || null,
    sizeBytes: Number(query.get('size')) || 0,
  };
}
