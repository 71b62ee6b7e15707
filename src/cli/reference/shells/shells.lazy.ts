import type { CommandNode } from '../command-node.ts';
import { fishCompletion } from './fish.ts';
import { bashCompletion, zshCompletion } from './posix.ts';
import { powershellCompletion } from './powershell.ts';

/** Maps each supported shell to its script's file name in `completions/` and the script's generator. */
export const shells = {
  bash: { file: 'mediactl.bash', script: bashCompletion },
  zsh: { file: '_mediactl', script: zshCompletion },
  fish: { file: 'mediactl.fish', script: fishCompletion },
  powershell: { file: 'mediactl.ps1', script: powershellCompletion },
} satisfies Record<string, { file: string; script(tree: CommandNode): string }>;
