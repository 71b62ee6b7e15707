import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { UploadEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { createWaitWarner, type FileProgress, PlainProgress, warnUnverified } from './plain-progress.ts';
import type { ProgressMode } from './progress-modes.ts';

/** Shows transfer progress on stderr. `close` removes the live display. */
export type ProgressDisplay = { show(event: UploadEvent): void; close(): void };

/**
 * Creates the progress display for an upload. It shows a single file until a `planned` event announces several
 * files.
 *
 * @param budget returns the requests left in the rate limit window; undefined if the service does not report them
 */
export async function createProgress(
  mode: ProgressMode,
  terminal: Terminal,
  clock: Clock,
  budget: () => RateLimitBudget | undefined,
): Promise<ProgressDisplay> {
  const chosen = mode === 'auto' ? (terminal.canAnimate ? 'bar' : 'plain') : mode;
  const fileProgress = await createFileProgress(chosen, terminal, clock);
  const { createRunProgress } = await import('./run-progress.ts');
  const runProgress = await createRunProgress(chosen, terminal, clock, budget);
  let current: FileProgress = fileProgress;
  const warnOfWaits = createWaitWarner(terminal, clock);
  return {
    show: (event) => {
      if (event.event === 'overall') return;
      if (event.event !== 'planned') {
        if (chosen === 'none' || (chosen === 'plain' && current === runProgress)) warnOfWaits(event);
        return current.show(event);
      }
      if (event.files + event.there < 2) return;
      fileProgress.close();
      current = runProgress;
      runProgress.begin(event);
    },
    close: () => current.close(),
  };
}

async function createFileProgress(
  chosen: Exclude<ProgressMode, 'auto'>,
  terminal: Terminal,
  clock: Clock,
): Promise<FileProgress> {
  if (chosen === 'json') return { show: (event) => terminal.emit(JSON.stringify(event)), close: () => {} };
  if (chosen === 'none') return { show: (event) => warnUnverified(event, terminal), close: () => {} };
  if (chosen === 'plain') return new PlainProgress(terminal, clock);
  const [{ LiveDisplay }, { LiveFileProgress }] = await Promise.all([
    import('./live-display.lazy.ts'),
    import('./live-file-progress.ts'),
  ]);
  return new LiveFileProgress(terminal, clock, (lines) => new LiveDisplay(terminal, lines));
}
