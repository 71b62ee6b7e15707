import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Argument } from '@commander-js/extra-typings';
import { CodedError, usageError } from '../../../client/errors.ts';
import { readTextFileOrEmpty } from '../../../client/read-file.ts';
import { makeFolder } from '../../../client/state-files.ts';
import { addExamples, type CommandDefinition } from '../../command.ts';
import type { Context } from '../../context.ts';
import { noResult, type Result, record } from '../../output/result.ts';
import type { Environment } from '../../settings/setting-resolver.ts';

const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const;
type ShellName = (typeof shellNames)[number];

export const completion: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl completion install',
    'mediactl completion install fish',
    'source <(mediactl completion bash)',
  );
  command
    .description(
      'Makes your shell complete commands, options, and the names of profiles, workspaces, folders and assets. install writes the script to the folder where your shell looks for it; the name of a shell prints it. For PowerShell: mediactl completion powershell | Out-String | Invoke-Expression.',
    )
    .addArgument(new Argument('<shell>', 'shell, or install').choices([...shellNames, 'install'] as const))
    .addArgument(new Argument('[for]', 'with install, the shell; defaults to SHELL').choices(shellNames))
    .action(
      run(async (context, shell, installed) => {
        if (shell === 'install') return runInstall(context, { shell: installed ?? shellInUse(context) });
        if (installed)
          throw usageError(`${shell} prints a script, and takes no second shell`, `mediactl completion ${shell}`);
        return { kind: 'raw', text: await scriptOf(shell) } as const;
      }),
    );
};

async function scriptOf(shell: ShellName): Promise<string> {
  const { shells } = await import('../shells.lazy.ts');
  return shells[shell].script;
}

/** Returns the user's shell. @throws CodedError `usage` (exit 2) if it is not a known one */
function shellInUse({ host }: Context): ShellName {
  const name = basename(host.environment.SHELL ?? '');
  const shell = shellNames.find((each) => each === name);
  if (shell) return shell;
  throw usageError(name ? `no completion for ${name}` : 'SHELL is not set', 'mediactl completion install bash');
}

type Place = {
  path: string;
  /** Step that is left to the user. */
  next: string | undefined;
};

const bashCompletionPaths = [
  '/usr/share/bash-completion/bash_completion',
  '/usr/local/share/bash-completion/bash_completion',
  '/opt/homebrew/etc/profile.d/bash_completion.sh',
  '/usr/local/etc/profile.d/bash_completion.sh',
];

/** Maps each shell to the file of this user from which it loads a completion script. */
const places: Record<Exclude<ShellName, 'powershell'>, (environment: Environment, home: string) => Place> = {
  bash: ({ XDG_DATA_HOME }, home) => {
    const path = join(XDG_DATA_HOME || join(home, '.local/share'), 'bash-completion/completions/mediactl');
    const isLoaded = bashCompletionPaths.some((each) => existsSync(each));
    const next = `install the package bash-completion, or add to ~/.bashrc:\n  source '${path}'`;
    return { path, next: isLoaded ? undefined : next };
  },
  zsh: ({ ZDOTDIR }, home) => {
    const folder = join(home, '.zfunc');
    const settings = join(ZDOTDIR || home, '.zshrc');
    const isLoaded = /^[^#\n]*\.zfunc/m.test(readTextFileOrEmpty(settings));
    const next = `add to ${settings}, before compinit: fpath+=(${folder}); if it has no compinit, then also: autoload -Uz compinit && compinit`;
    return { path: join(folder, '_mediactl'), next: isLoaded ? undefined : next };
  },
  fish: ({ XDG_CONFIG_HOME }, home) => ({
    path: join(XDG_CONFIG_HOME || join(home, '.config'), 'fish/completions/mediactl.fish'),
    next: undefined,
  }),
};

/** Writes the completion script to the folder where the user's shell looks for it. Never edits a shell's settings. */
async function runInstall(context: Context, { shell }: { shell: ShellName }): Promise<Result> {
  const { environment } = context.host;
  if (shell === 'powershell')
    throw usageError(
      'PowerShell has no folder for completion scripts',
      'add to the file in $PROFILE: mediactl completion powershell | Out-String | Invoke-Expression',
    );
  const { path, next } = places[shell](environment, environment.HOME || homedir());
  if (context.isDryRun(`write the completion script for ${shell} to ${path}`)) return noResult;
  const script = await scriptOf(shell);
  await makeFolder(dirname(path));
  // Only this user may change a script that the shell runs.
  await writeFile(path, script, { mode: 0o644 }).catch((error: Error) => {
    throw new CodedError(`cannot write ${path}`, { code: 'write_failed', reason: error.message, underlying: error });
  });
  context.terminal.info(next ?? `open a new ${shell} to use it`);
  return record({ shell, path, next: next ?? null }, path, () => [
    ['shell', shell],
    ['written', path],
  ]);
}
