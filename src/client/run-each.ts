import { asCodedError, type CodedError, endsTheRun, notAttempted } from './errors.ts';

/** Return value of `work` for an item, or its error. */
export type ItemResult<T, R> = { item: T; value: R | undefined; error: CodedError | undefined };

type RunEachOptions = { signal: AbortSignal; lanes?: number | undefined };

/** Like `runEach`, for items of which none may fail. @returns the values, in order. @throws the first error */
export async function runAll<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  options: RunEachOptions,
): Promise<R[]> {
  const results = await runEach(items, work, options);
  return results.map(({ value, error }) => {
    if (error) throw error;
    return value as R;
  });
}

/**
 * Runs `work` for each item, at most `lanes` at a time. After an error that every other item would have too, such as a
 * rejected key or Ctrl-C, the remaining items fail as not attempted.
 *
 * @returns one result per item, in the order of the items
 */
export async function runEach<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  { signal, lanes = 4 }: RunEachOptions,
): Promise<ItemResult<T, R>[]> {
  const results: ItemResult<T, R>[] = [];
  let fatalError: CodedError | undefined;
  const queue = items.entries();
  const worker = async () => {
    for (const [at, item] of queue) {
      if (signal.aborted) fatalError ??= asCodedError(signal.reason);
      try {
        if (fatalError) throw notAttempted(fatalError);
        results[at] = { item, value: await work(item), error: undefined };
      } catch (thrown) {
        const error = asCodedError(thrown);
        results[at] = { item, value: undefined, error };
        if (endsTheRun(error)) fatalError ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, worker));
  return results;
}

/** Returns at most `count` of some items, spread evenly. */
export function sampleOf<T>(items: readonly T[], count: number): T[] {
  const step = Math.max(1, items.length / count);
  return items.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}
