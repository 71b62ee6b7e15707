import type { FileOutcome } from '../../client/upload/session/file-outcome.ts';
import type { Context } from '../context.ts';
import type { ListResult } from '../output/result.ts';
import type { RunLog } from './run-log.ts';
import { RunSummary } from './run-summary.ts';
import { formatLine, toUploadRecord, type UploadRecord, uploadColumns } from './upload-record.ts';

type EndlessRunView = {
  /** Log of the run; undefined to print lines. */
  log: RunLog | undefined;
  onOutcome?(outcome: FileOutcome): void;
  /** Called after the last outcome, before the summary. */
  close(): Promise<void>;
  /** Called before the summary. */
  atEnd?(): void;
};

/** Prints the outcome of each file of a run without an end as it happens, and a summary once the run was stopped. */
export function displayEndless(
  context: Context,
  outcomes: AsyncIterable<FileOutcome[]>,
  { log, onOutcome, close, atEnd }: EndlessRunView,
): ListResult {
  const { clock, terminal } = context;
  const printsRecords = !context.isHumanOutput && (!log || context.isMachineReadable);
  const summary = new RunSummary(clock.now(), terminal.redactor);
  const pages = async function* (): AsyncGenerator<UploadRecord[]> {
    try {
      for await (const some of outcomes) {
        const records = some.map((outcome) => {
          const record = toUploadRecord(context, outcome);
          summary.count(outcome);
          onOutcome?.(outcome);
          log?.outcome(record);
          return record;
        });
        if (printsRecords) yield records;
        // No table on a terminal: it would appear only after the run has stopped.
        else if (!terminal.log) for (const record of records) terminal.info(formatLine(record));
      }
    } finally {
      await close();
    }
    atEnd?.();
    terminal.info(summary.format(clock.now(), 0, false, 'nothing was uploaded'));
  };
  return {
    kind: 'list',
    pages: pages(),
    columns: uploadColumns,
    empty: '',
    isLive: true,
    id: ({ asset_uid }: UploadRecord) => asset_uid ?? '',
  };
}
