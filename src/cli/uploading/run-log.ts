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
export class RunLog {
  readonly #context: Pick<Context, 'terminal' | 'clock'>;
  readonly #format: (time: string, entry: LogEntry) => string;

  /**
   * Starts the log, to which all notices, warnings and errors of the program go from now on.
   *
   * @param worker name of the worker; null for a watch
   */
  constructor(context: Pick<Context, 'terminal' | 'clock'>, worker: string | null, format: LogFormat) {
    this.#context = context;
    this.#format = (time, entry) => formatters[format](time, worker, entry);
    context.terminal.log = (entry) => this.write(entry);
  }

  write(entry: LogEntry): void {
    const { terminal, clock } = this.#context;
    const time = new Date(clock.now()).toISOString();
    terminal.emitJson(this.#format(time, terminal.redactor.redactRecord(entry)));
  }

  /** Logs the steps of an upload. The outcome of the file is logged by `outcome`. */
  show(event: ShownEvent): void {
    if (!('path' in event)) return;
    const { entry } = wordsOf(event, this.#context.clock.now());
    if (entry) this.write({ path: event.path, ...entry });
  }

  outcome(record: UploadRecord): void {
    const { path, outcome, asset_uid, size_bytes, bytes_sent, request_count, elapsed_ms, moved_to, error } = record;
    const figures = { asset_uid, size_bytes, bytes_sent, request_count, elapsed_ms, ...(moved_to && { moved_to }) };
    const level = error ? 'error' : 'info';
    const sent = outcome === 'uploaded' && !error ? `${uploadOutcomes.uploaded.summary}, ` : '';
    this.write({ level, path, message: `${sent}${formatResult(record)}`, ...figures, ...(error && { error }) });
  }
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
