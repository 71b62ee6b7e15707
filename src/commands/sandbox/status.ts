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
  not_yet: string[];
};

export function status(command: Command, run: Run): void {
  example(command, 'mediactl sandbox status', 'mediactl sandbox status --json');
  command
    .summary('tell whether it runs, where, and what it lacks')
    .description(
      'Tells whether the sandbox runs, where it listens and keeps its data, and which endpoints of the API it does not have yet.',
    )
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
          not_yet: running?.not_yet ?? [],
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
  ...shown.not_yet.map((endpoint, at): Row => [at === 0 ? 'not yet' : ' ', endpoint]),
];
