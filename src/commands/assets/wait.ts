import type { Command } from '@commander-js/extra-typings';
import { MediactlError, someFailed } from '../../errors.ts';
import { parseDuration } from '../../profiles/units.ts';
import { openSpinner } from '../../terminal/spinner.ts';
import { waitForAssets } from '../../upload/wait.ts';
import type { Collection } from '../../wire/paths.ts';
import type { Asset } from '../../wire/types.ts';
import { example, type Run } from '../command.ts';
import { oneOrMany } from './columns.ts';
import { assetUids, idHelp } from './resolve.ts';

export function wait(command: Command, run: Run, collection: Collection): void {
  example(command, `mediactl ${collection} wait @last --timeout 10m`);
  command
    .summary('wait until ready')
    .description(
      'Waits until an asset is ready. Exit code 12: its processing failed; 8: the time is over.',
    )
    .argument('<id...>', `${idHelp}; - for stdin`)
    .option('--for <status>', 'status to wait for', 'ready')
    .option('--timeout <duration>', 'how long at most', '30m')
    .action(
      run(async (context, ids, options) => {
        const timeoutMs = parseDuration('--timeout', options.timeout);
        const uids = await assetUids(context, collection, ids);
        const { [collection]: assets } = await context.api();
        const spinner = await openSpinner(context.terminal);
        try {
          const settled = await waitForAssets(assets, uids, {
            clock: context.clock,
            signal: context.signal,
            timeoutMs,
            status: options.for,
            onStatus: (uid, status) => spinner.say(`${uid} is ${status}`),
          });
          return outcomeOf(settled);
        } finally {
          spinner.stop();
        }
      }),
    );
}

function outcomeOf(settled: Map<string, Asset | MediactlError>) {
  const outcomes = [...settled.values()];
  const failures = outcomes.filter((outcome) => outcome instanceof MediactlError);
  const ready = outcomes.filter((outcome): outcome is Asset => !(outcome instanceof MediactlError));
  const failure =
    failures.length > 0 && outcomes.length > 1
      ? someFailed(`${failures.length} of ${outcomes.length} assets did not get there`, failures)
      : failures[0];
  return { result: oneOrMany(ready, settled.size), failure };
}
