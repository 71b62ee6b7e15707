import type { Environment } from '../../settings/setting-resolver.ts';

/** Ways to show a picture in a terminal: two graphics protocols, or colored half-block characters. */
export type GraphicsProtocol = 'kitty' | 'iterm' | 'blocks';

/**
 * Detects the terminal's graphics protocol from environment variables. Returns undefined unless it is certain,
 * since a terminal without support would print thousands of meaningless characters.
 */
export function detectProtocol(environment: Environment): GraphicsProtocol | undefined {
  const { TERM = '', TERM_PROGRAM = '', LC_TERMINAL, TMUX, STY } = environment;
  // tmux and screen do not pass pictures on, but inherit the variables of the outer terminal.
  if (TMUX || STY || /^(?:tmux|screen)/.test(TERM)) return undefined;
  if (/kitty|ghostty/.test(`${TERM} ${TERM_PROGRAM}`)) return 'kitty';
  if (/^(?:iTerm\.app|WezTerm|mintty)$/.test(TERM_PROGRAM)) return 'iterm';
  // The variables below might be inherited from another terminal, so TERM_PROGRAM takes precedence.
  if (TERM_PROGRAM) return undefined;
  if (LC_TERMINAL === 'iTerm2') return 'iterm';
  if (environment.KITTY_WINDOW_ID) return 'kitty';
  return undefined;
}

/** Returns true if the terminal supports 24-bit color. Otherwise, half blocks use 256 colors. */
export const hasTrueColor = ({ COLORTERM = '' }: Environment) => /truecolor|24bit/i.test(COLORTERM);
