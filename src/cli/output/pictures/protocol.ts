/** How a terminal is made to show a picture: by a protocol for pictures, or by coloured half blocks. */
export type Protocol = 'kitty' | 'iterm' | 'sixel' | 'blocks';

type Environment = Record<string, string | undefined>;

/**
 * The protocol that the terminal is known to have by what it says of itself. One that only may have it
 * would show the picture as pages of letters.
 */
export function knownProtocol(environment: Environment): Protocol | undefined {
  const { TERM = '', TERM_PROGRAM = '', LC_TERMINAL, TMUX, STY } = environment;
  // They hand on no pictures, and keep the variables of the terminal around them.
  if (TMUX || STY || /^(?:tmux|screen)/.test(TERM)) return undefined;
  if (/kitty|ghostty/.test(`${TERM} ${TERM_PROGRAM}`)) return 'kitty';
  if (/^(?:foot|mlterm|contour)/.test(TERM)) return 'sixel';
  if (/^(?:iTerm\.app|WezTerm|mintty)$/.test(TERM_PROGRAM)) return 'iterm';
  // A terminal that names itself may have been started from one whose variables are still there.
  if (TERM_PROGRAM) return undefined;
  if (LC_TERMINAL === 'iTerm2') return 'iterm';
  if (environment.KITTY_WINDOW_ID) return 'kitty';
  if (Number(environment.KONSOLE_VERSION) >= firstKonsole || environment.WT_SESSION) return 'sixel';
  return undefined;
}

/** Konsole 22.04. */
const firstKonsole = 220400;

/** Whether it shows all colours; elsewhere a picture of blocks has 256. */
export const hasAllColours = ({ COLORTERM = '' }: Environment) =>
  /truecolor|24bit/i.test(COLORTERM);
