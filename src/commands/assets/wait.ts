import type { Command } from '@commander-js/extra-typings';
import { parseDuration } from '../../profiles/units.ts';
import { list, record } from '../../terminal/result.ts';
import { openSpinner } from '../../terminal/spinner.ts';
import { waitForAsset } from '../../upload/wait.ts';
import type { Collection } from '../../wire/paths.ts';
import { example, type Run } from '../command.ts';
import { assetColumns, assetRows } from './columns.ts';
import { assetUids, idHelp } from './resolve.ts';

export function wait(command: Command, run: Run, collection: Collection): void {
  example(command, `mediactl ${collection} wait @last --timeout 10m`);
  command
    .summary('wait until ready')
    .description(
      'Waits until an asset is ready. Ends 12 when its processing failed, 8 when the time is over.',
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
        const { clock, signal } = context;
        const until = clock.now() + timeoutMs;
        const found = [];
        try {
          for (const uid of uids)
            found.push(
              await waitForAsset(assets, uid, {
                clock,
                signal,
                timeoutMs: Math.max(0, until - clock.now()),
                status: options.for,
                onStatus: ({ status }) => spinner.say(`${uid} is ${status ?? 'in progress'}`),
              }),
            );
        } finally {
          spinner.stop();
        }
        const [only] = found;
        if (only && found.length === 1) return record(only, only.uid, assetRows);
        return list([found], assetColumns, '');
      }),
    );
}
