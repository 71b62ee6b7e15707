import type { Context } from '../context.ts';
import { createProgress } from '../progress/progress.ts';
import type { ProgressMode } from '../progress/progress-modes.ts';

/** Returns the progress mode: none with --quiet, unless one was requested. */
export const resolveProgressMode = ({ settings }: Context, asked: ProgressMode): ProgressMode =>
  asked === 'auto' && settings.outputOptions.format === 'quiet' ? 'none' : asked;

/** Opens the progress display of downloads. It shows no rate limit: they cost few requests. */
export const openDownloadProgress = (context: Context, asked: ProgressMode = 'auto') =>
  createProgress(
    resolveProgressMode(context, asked),
    context.terminal,
    context.clock,
    () => undefined,
  );
