import type { Command } from '@commander-js/extra-typings';
import { printable } from '../../terminal/printable.ts';
import { type Row, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { dataOption, placeOf } from './place.ts';
import { findRunning, type Health } from './server.ts';

type Status = {
  running: boolean;
  url: string | null;
  pid: number | null;
  started_at: string | null;
  data: string;
  /** Those that may still fire. */
  faults: string[];
  /** Path of the ffmpeg that processing uses. */
  ffmpeg: string | null;
  /** Path of the pdftoppm that draws the pages of PDFs. */
  pdftoppm: string | null;
  /** What assets go without for want of these. */
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
        const { dataDir } = await placeOf(context, data);
        const running = await findRunning(context, dataDir);
        const found: Status = {
          running: running !== undefined,
          url: running?.url ?? null,
          pid: running?.pid ?? null,
          started_at: running?.started_at ?? null,
          data: dataDir,
          faults: (running?.faults ?? []).map(shownFault),
          ffmpeg: running?.tools?.ffmpeg ?? null,
          pdftoppm: running?.tools?.pdftoppm ?? null,
          left_out: running?.left_out ?? [],
        };
        return record(found, found.url ?? '', rows);
      }),
    );
}

const shownFault = ({ fault, times_left: left }: NonNullable<Health['faults']>[number]) =>
  left === null ? fault : `${fault} (${left} left)`;

const rows = (shown: Status): Row[] => [
  ['running', shown.running ? 'yes' : 'no'],
  ['url', shown.url ?? ''],
  ['pid', shown.pid === null ? '' : String(shown.pid)],
  ['since', shown.started_at ?? ''],
  ['data', shown.data],
  ...shown.faults.map((fault): Row => ['fault', printable(fault)]),
  ['ffmpeg', shown.running ? (shown.ffmpeg ?? 'not found') : ''],
  ['pdftoppm', shown.running ? (shown.pdftoppm ?? 'not found') : ''],
  ['left out', shown.left_out.join(', ')],
];
