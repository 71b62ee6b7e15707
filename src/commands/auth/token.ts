import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { masked } from '../../terminal/redaction.ts';
import { text } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';

export function token(command: Command, run: Run): void {
  example(command, 'mediactl auth token --reveal');
  command
    .summary('print the API key in use')
    .description('Prints the API key of the account in use; only --reveal prints all of it.')
    .option('--reveal', 'print the whole key')
    .action(
      run(async (context, { reveal }) => {
        const { apiKey } = await context.account();
        if (!reveal)
          throw usageError(
            `the key is ${masked(apiKey)}; it is not printed by accident`,
            'mediactl auth token --reveal',
          );
        return text(apiKey);
      }),
    );
}
