import type { Context } from '../context.ts';
import { openProgress } from '../progress/progress.ts';
import type { ProgressMode } from '../progress/progress-modes.ts';

/** Returns the progress mode: none with --quiet, unless one was requested. */
export const resolveProgressMode = ({ settings }: Context, asked: ProgressMode): ProgressMode =>
  asked === 'auto' && settings.shape.format === 'quiet' ? 'none' : asked;

/** Opens the progress display of downloads. It shows no rate limit: they cost few requests. */
export const openDownloadProgress = (context: Context, asked: ProgressMode = 'auto') =>
  openProgress(
    resolveProgressMode(context, asked),
    context.terminal,
    context.clock,
    () => undefined,
  );
