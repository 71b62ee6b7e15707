import { type CommandDefinition, verb } from '../../command.ts';

export const queue: CommandDefinition = [
  verb(
    'ls',
    'list the files in a queue, and say what holds them up',
    async () => (await import('./list.ts')).list,
    'list',
  ),
  verb('watch', 'watch a queue until it is empty', async () => (await import('./watch.ts')).watch),
  verb('work', 'upload files that other machines have queued', async () => (await import('./work.ts')).work),
  verb('retry', 'retry failed uploads in a queue', async () => (await import('./changes.ts')).retry),
  verb('forget', 'remove uploads from a queue', async () => (await import('./changes.ts')).forget),
];
