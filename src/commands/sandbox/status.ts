import type { Command } from '@commander-js/extra-typings';
import { type Row, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { dataDirOf, dataOption, findRunning } from './server.ts';

type Status = {
  running: boolean;
  url: string | null;
  pid: number | null;
  started_at: string | null;
  data: string;
  /** Path of the ffmpeg that processing uses. */
  ffmpeg: string | null;
  /** What assets go without for want of it. */
  left_out: string[];
};

export function status(command: Command, run: Run): void {
  example(command, 'mediactl sandbox status', 'mediactl sandbox status --json');
  command
    .summary('tell whether it runs, and where')
    .description('Tells whether the sandbox runs, and where it listens and keeps its data.')
    .option(...dataOption)
    .action(
      run(async (context, { data }) => {
        const dataDir = dataDirOf(context, data);
        const running = await findRunning(context, dataDir);
        const found: Status = {
          running: running !== undefined,
          url: running?.url ?? null,
          pid: running?.pid ?? null,
          started_at: running?.started_at ?? null,
          data: dataDir,
          ffmpeg: running?.tools?.ffmpeg ?? null,
          left_out: running?.left_out ?? [],
        };
        return record(found, found.url ?? '', rows);
      }),
    );
}

const rows = (shown: Status): Row[] => [
  ['running', shown.running ? 'yes' : 'no'],
  ['url', shown.url ?? ''],
  ['pid', shown.pid === null ? '' : String(shown.pid)],
  ['since', shown.started_at ?? ''],
  ['data', shown.data],
  ['ffmpeg', shown.running ? (shown.ffmpeg ?? 'not found') : ''],
  ['left out', shown.left_out.join(', ')],
];
