import type { CommandNode } from '../node.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { powershellCompletion } from './powershell.ts';
import { zshCompletion } from './zsh.ts';

/** The shells that are completed for: how their script is made, and its file in `completions/`. */
export const shells = {
  bash: { file: 'mediactl.bash', script: bashCompletion },
  zsh: { file: '_mediactl', script: zshCompletion },
  fish: { file: 'mediactl.fish', script: fishCompletion },
  powershell: { file: 'mediactl.ps1', script: powershellCompletion },
} satisfies Record<string, { file: string; script(tree: CommandNode): string }>;
