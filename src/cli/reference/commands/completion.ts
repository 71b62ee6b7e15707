import { Argument } from '@commander-js/extra-typings';
import { addExamples, type CommandDefinition } from '../../commands/command.ts';
import { describeCommand } from '../command-tree.ts';

const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const;

export const completion: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'source <(mediactl completion bash)',
    'mediactl completion zsh > ~/.zfunc/_mediactl',
    'mediactl completion fish > ~/.config/fish/completions/mediactl.fish',
  );
  command
    .description(
      'Prints the script that makes a shell complete commands, options, and the names of profiles, workspaces, folders and assets. For PowerShell: mediactl completion powershell | Out-String | Invoke-Expression.',
    )
    .addArgument(new Argument('<shell>', 'your shell').choices(shellNames))
    .action(
      run(async (context, shell) => {
        const { shells } = await import('../shells/shells.lazy.ts');
        return { kind: 'raw', text: shells[shell].script(describeCommand(await context.commandTree())) } as const;
      }),
    );
};
