import type { Command } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { parseCount } from '../../profiles/units.ts';
import { printableLines } from '../../terminal/printable.ts';
import { nothing, text } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { LogReader, logPath } from './log.ts';
import { dataOption, placeOf } from './place.ts';

export function logs(command: Command, run: Run): void {
  example(command, 'mediactl sandbox logs', 'mediactl sandbox logs -f');
  command
    .summary('show its log')
    .description('Shows the end of the sandbox’s log: a line a request, and what processing did.')
    .option(...dataOption)
    .option('--lines <number>', 'how many lines', '50')
    .option('-f, --follow', 'go on as lines come, until interrupted')
    .action(
      run(async (context, { data, lines, follow }) => {
        const count = parseCount('--lines', lines, 1);
        const { dataDir } = await placeOf(context, data);
        const log = await LogReader.open(logPath(dataDir)).catch((error) => {
          throw new MediactlError('the sandbox has no log', {
            code: 'no_log',
            exitCode: exitCodes.notFound,
            reason: error.code === 'ENOENT' ? 'it was never started there' : error.message,
            hint: 'mediactl sandbox start',
          });
        });
        try {
          const tail = printableLines(await log.lastLines(count));
          if (!follow) return text(tail);
          await context.terminal.write(`${tail}\n`);
          return await followed(context, log);
        } finally {
          await log.close();
        }
      }),
    );
}

async function followed({ clock, signal, terminal }: Context, log: LogReader) {
  while (!signal.aborted) {
    const more = await log.more();
    if (more) await terminal.write(printableLines(more));
    else await clock.sleep(250, signal).catch(() => {}); // aborted: the loop ends
  }
  return nothing;
}
