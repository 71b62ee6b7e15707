import type { Clock } from '../../client/clock.ts';
import type { RemainingRequests, UploadEvent } from '../../client/upload/session/events.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type FileProgress, PlainProgress, sayDoubt, waitWarnings } from './plain-progress.ts';
import type { ProgressMode } from './progress-modes.ts';

/** Shows transfer progress on stderr. `close` removes the live display. */
export type Progress = { show(event: UploadEvent): void; close(): void };

/**
 * Creates the progress display of an upload: for one file at first, for many after a `planned` event.
 *
 * @param budget requests left in the rate limit window, if the service reports it
 */
export async function openProgress(
  mode: ProgressMode,
  terminal: Terminal,
  clock: Clock,
  budget: () => RemainingRequests | undefined,
): Promise<Progress> {
  const chosen = mode === 'auto' ? (terminal.canAnimate ? 'bar' : 'plain') : mode;
  const one = await openFileProgress(chosen, terminal, clock);
  const { openManyProgress } = await import('./many-progress.ts');
  const many = await openManyProgress(chosen, terminal, clock, budget);
  let shown: FileProgress = one;
  const warnOfWaits = waitWarnings(terminal, clock);
  return {
    show: (event) => {
      if (event.event === 'overall') return;
      if (event.event !== 'planned') {
        if (chosen === 'none' || (chosen === 'plain' && shown === many)) warnOfWaits(event);
        return shown.show(event);
      }
      if (event.files + event.there < 2) return;
      one.close();
      shown = many;
      many.begin(event);
    },
    close: () => shown.close(),
  };
}

async function openFileProgress(
  chosen: Exclude<ProgressMode, 'auto'>,
  terminal: Terminal,
  clock: Clock,
): Promise<FileProgress> {
  if (chosen === 'json')
    return { show: (event) => terminal.tell(JSON.stringify(event)), close: () => {} };
  if (chosen === 'none') return { show: (event) => sayDoubt(event, terminal), close: () => {} };
  if (chosen === 'plain') return new PlainProgress(terminal, clock);
  const [{ Standing }, { StandingFile }] = await Promise.all([
    import('./standing.lazy.ts'),
    import('./standing-file.ts'),
  ]);
  return new StandingFile(terminal, clock, (lines) => new Standing(terminal, lines));
}
