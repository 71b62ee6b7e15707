import { Argument } from '@commander-js/extra-typings';
import jsonSchemas from '../../../../docs/schemas.json' with { type: 'json' };
import { addExamples, type CommandDefinition } from '../../command.ts';
import type { schemas } from '../schemas.ts';

const summaries: Record<keyof typeof schemas, string> = {
  upload: 'upload, uploads resume, uploads watch, worker',
  error: 'the line on stderr with --json',
  commands: 'commands --json',
  command: 'commands COMMAND --json',
  changes: 'assets update, tag, mv and rm; undo; history --resume',
  apply: 'assets apply',
  stats: 'assets stats',
  history: 'history',
  'history-items': 'history RUN',
  downloads: 'assets download',
  'contact-sheet': 'assets ls --html',
  'embed-domains': 'embed domains add, rm, sync',
  probe: 'play --probe',
  'dry-run': '--dry-run of commands other than upload, apply and undo',
  'upload-dry-run': 'upload --dry-run',
  'upload-estimate': 'upload --estimate',
  'finished-upload': 'uploads ls --finished',
  'queued-upload': 'uploads ls --queue, uploads retry, uploads forget --queue',
  check: 'check',
};

export const schema: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl schema upload', 'mediactl schema error');
  const names = Object.keys(summaries) as (keyof typeof summaries)[];
  const list = names.map((name) => `${name}: ${summaries[name]}`).join('; ');
  command
    .description(
      `Prints the JSON Schema of output that mediactl itself defines. ${list}. Records of the service have no schema here.`,
    )
    .addArgument(new Argument('<name>', 'name of the output').choices(names))
    .action(
      run(async (_context, name) => {
        const { $schema, ...rest } = jsonSchemas[name];
        const document = { $schema, title: `mediactl ${name}: ${summaries[name]}`, ...rest };
        return { kind: 'raw', text: JSON.stringify(document, null, 2) };
      }),
    );
};
