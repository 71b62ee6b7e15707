import type { Command } from '@commander-js/extra-typings';
import { nothing } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { dataOption, placeOf } from './place.ts';
import { findRunning, shutDown } from './server.ts';

export function stop(command: Command, run: Run): void {
  example(command, 'mediactl sandbox stop', 'mediactl sandbox stop --profile sandbox');
  command
    .summary('stop it; everything is kept')
    .description('Stops the sandbox. Everything in it is kept, and there at the next start.')
    .option(...dataOption)
    .action(
      run(async (context, { data }) => {
        const { dataDir } = await placeOf(context, data);
        const running = await findRunning(context, dataDir);
        if (context.onlyPretends(running ? `stop pid ${running.pid}` : 'do nothing'))
          return nothing;
        if (running) await shutDown(context, running);
        context.terminal.say(running ? `stopped, pid ${running.pid}` : 'no sandbox is running');
        return nothing;
      }),
    );
}
