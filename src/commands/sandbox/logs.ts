import { open } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { parseCount } from '../../profiles/units.ts';
import { printableLines } from '../../terminal/printable.ts';
import { nothing, text } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { dataDirOf, dataOption, logPath } from './server.ts';

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
        const path = logPath(dataDirOf(context, data));
        const handle = await open(path).catch((error) => {
          throw new MediactlError('the sandbox has no log', {
            code: 'no_log',
            exitCode: exitCodes.notFound,
            reason: error.code === 'ENOENT' ? 'it was never started there' : error.message,
            hint: 'mediactl sandbox start',
          });
        });
        try {
          const log = await handle.readFile('utf8');
          const tail = log.trimEnd().split('\n').slice(-count).join('\n');
          if (!follow) return text(printableLines(tail));
          await context.terminal.write(`${printableLines(tail)}\n`);
          return await followed(context, handle);
        } finally {
          await handle.close();
        }
      }),
    );
}

async function followed(
  { clock, signal, terminal }: Context,
  handle: Awaited<ReturnType<typeof open>>,
) {
  while (!signal.aborted) {
    const more = await handle.readFile('utf8'); // from where the last read ended
    if (more) await terminal.write(printableLines(more));
    await clock.sleep(250, signal).catch(() => {}); // aborted: the loop ends
  }
  return nothing;
}
