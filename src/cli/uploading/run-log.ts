import { Option } from '@commander-js/extra-typings';
import { escapeControls } from '../../shared/sanitize.ts';
import { uploadOutcomes } from '../../shared/upload-outcomes.ts';
import type { Context } from '../context.ts';
import type { ShownEvent } from '../progress/run-state.ts';
import { wordsOf } from '../progress/run-words.ts';
import type { LogEntry } from '../terminal/terminal.ts';
import { formatResult, type UploadRecord } from './upload-record.ts';

const logFormats = ['text', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

export const logFormatOption = () =>
  new Option(
    '--log-format <format>',
    'with --watch, a log on stderr, one line per event; 2>> sync.log keeps it',
  ).choices(logFormats);

/** Log of a worker or a watch that runs as a service: one line on stderr per event, with time, level, worker and file. */
export type RunLog = ReturnType<typeof startLog>;

/**
 * Starts the log, to which all notices, warnings and errors of the program go from now on.
 *
 * @param worker name of the worker; null for a watch
 */
export function startLog({ terminal, clock }: Context, worker: string | null, format: LogFormat) {
  const write = (entry: LogEntry) => {
    const time = new Date(clock.now()).toISOString();
    terminal.emitJson(formatters[format](time, worker, terminal.redactor.redactRecord(entry)));
  };
  terminal.log = write;
  return {
    /** Logs the steps of an upload. The outcome of the file is logged by `outcome`. */
    show: (event: ShownEvent) => {
      if (!('path' in event)) return;
      const { entry } = wordsOf(event, clock.now());
      if (entry) write({ path: event.path, ...entry });
    },
    outcome: (record: UploadRecord) => {
      const { path, outcome, asset_uid, size_bytes, bytes_sent, request_count, elapsed_ms, moved_to, error } = record;
      const figures = { asset_uid, size_bytes, bytes_sent, request_count, elapsed_ms, ...(moved_to && { moved_to }) };
      const level = error ? 'error' : 'info';
      const sent = outcome === 'uploaded' && !error ? `${uploadOutcomes.uploaded.summary}, ` : '';
      write({ level, path, message: `${sent}${formatResult(record)}`, ...figures, ...(error && { error }) });
    },
  };
}

const formatters: Record<LogFormat, (time: string, worker: string | null, entry: LogEntry) => string> = {
  json: (time, worker, { level, path, message, ...fields }) =>
    JSON.stringify({ time, level, worker, path: path || null, message, ...fields }),
  text: (time, worker, { level, path, message, asset_uid, error }) => {
    const { cause, hint } = (error ?? {}) as { cause?: string | null; hint?: string | null };
    const parts = [message, asset_uid, cause && `cause: ${cause}`, hint && `try: ${hint}`];
    const subject = path ? `${path}: ` : '';
    const text = `${worker === null ? '' : `${worker} `}${subject}${parts.filter(Boolean).join('; ')}`;
    return `${time} ${level} ${escapeControls(text)}`;
  },
};
