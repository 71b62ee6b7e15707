import { Option } from '@commander-js/extra-typings';
import type { QueueAddress } from '../../../queue/queue-address.ts';
import { WatchRun } from '../../../queue/watch-run.ts';
import { addExamples, type Define } from '../../command.ts';
import type { Context } from '../../context.ts';
import { createProgress, type ProgressMode, progressModes } from '../../progress/progress.ts';
import { presentRun } from '../../uploading/run-view.ts';
import { openQueue, queueOption, resolveQueue, warnOfQueueState } from '../queue-access.ts';

export const watch: Define = (command, run) =>
  addExamples(command, 'mediactl queue watch', 'mediactl queue watch --queue redis://queue.lan')
    .description(
      'Shows the progress of the uploads in a queue until it is empty, including files queued in the meantime.',
    )
    .option(...queueOption)
    .option('-v, --verbose', 'list every file, not only those that failed')
    .addOption(new Option('--progress <mode>', 'how to show progress').choices(progressModes).default('auto' as const))
    .action(
      run((context, { queue, progress, verbose = false }) =>
        runWatch(context, resolveQueue(context, queue), progress, verbose),
      ),
    );

async function runWatch(context: Context, address: QueueAddress, mode: ProgressMode, verbose: boolean) {
  const { clock, signal } = context;
  const client = await openQueue(context, address, 'read');
  await warnOfQueueState(context, client);
  const progress = await createProgress(context, mode);
  const watching = new WatchRun(client, {
    clock,
    signal,
    onEvent: (event) => progress.show(event),
    onPlanned: (planned) => progress.show(planned),
  });
  return presentRun(context, watching.outcomes(), {
    result: () => watching.result,
    progress,
    verbose,
    emptyText: 'the queue is empty',
    close: async () => {},
  });
}
