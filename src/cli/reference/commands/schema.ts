import { Argument } from '@commander-js/extra-typings';
import { addExamples, type CommandDefinition } from '../../commands/command.ts';
import { schemaOf, schemas } from '../schemas.ts';

export const schema: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl schema upload', 'mediactl schema error');
  command
    .description(
      `Prints the JSON Schema of what mediactl makes itself. ${Object.entries(schemas)
        .map(([name, { summary }]) => `${name}: ${summary}`)
        .join('; ')}. Records of the service are the service’s own.`,
    )
    .addArgument(new Argument('<name>', 'of which output').choices(Object.keys(schemas)))
    .action(
      run(async (_context, name) => ({
        kind: 'raw',
        text: JSON.stringify(schemaOf(name), null, 2),
      })),
    );
};
