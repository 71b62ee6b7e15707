import type { Context } from '../context.ts';
import { openProgress } from '../progress/progress.ts';
import type { ProgressMode } from '../progress/progress-modes.ts';

/** --quiet is quiet: its uids, and what went wrong; progress that was asked for is shown all the same. */
export const progressFor = ({ settings }: Context, asked: ProgressMode): ProgressMode =>
  asked === 'auto' && settings.shape.format === 'quiet' ? 'none' : asked;

/** Of downloads, which cost few requests. */
export const openDownloadProgress = (context: Context, asked: ProgressMode = 'auto') =>
  openProgress(progressFor(context, asked), context.terminal, context.clock, () => undefined);
