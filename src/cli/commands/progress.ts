import type { Context } from '../context.ts';
import { createProgress } from '../progress/progress.ts';
import type { ProgressMode } from '../progress/progress-modes.ts';

/** Returns the progress mode: `none` with --quiet, unless the user requested a mode. */
export const resolveProgressMode = ({ settings }: Context, requested: ProgressMode): ProgressMode =>
  requested === 'auto' && settings.outputOptions.format === 'quiet' ? 'none' : requested;

/** Opens the progress display for downloads. It shows no rate limit, as downloads need few requests. */
export const openDownloadProgress = (context: Context, requested: ProgressMode = 'auto') =>
  createProgress(resolveProgressMode(context, requested), context.terminal, context.clock, () => undefined);
