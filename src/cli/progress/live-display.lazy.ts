import { clearScreenDown } from 'node:readline';
import { MultiBar, type SingleBar } from 'cli-progress';
import ora from 'ora';
import type { Terminal } from '../terminal/terminal.ts';
import type { Look } from './live-lines.ts';

const framesPerSecond = 8;
const [wrapOn, wrapOff, clearBelow] = ['\u001b[?7h', '\u001b[?7l', '\u001b[J'];

/** Internal cursor of cli-progress, which tracks the cursor's offset from the first line. */
type Cursor = { cursorRelativeReset(): void };

/**
 * Shows lines at the bottom of the terminal, redrawn several times a second. Other output scrolls above them.
 *
 * @param linesOf returns the current lines; called for each frame
 * @returns a function that removes the display, so that later output is written in its place
 */
export function openLiveDisplay(terminal: Terminal, linesOf: (look: Look) => readonly string[]): () => void {
  const { stderr } = terminal;
  const spinner = ora({
    stream: stderr as NodeJS.WriteStream,
    isEnabled: true,
    color: false as never, // the lines color it, which respects NO_COLOR
  });
  const multi = new MultiBar({
    stream: stderr as NodeJS.WriteStream,
    format: '{line}',
    fps: framesPerSecond,
    hideCursor: true,
    clearOnComplete: true,
    linewrap: false,
    gracefulExit: false,
    emptyOnZero: true,
    forceRedraw: true,
  });
  const bars: SingleBar[] = [];
  const widthNow = () => Math.max(20, (stderr.columns ?? 80) - 1);
  let width = widthNow();
  // The cursor rests on the first line, where it stays if the terminal is resized and rewraps the lines.
  const { terminal: cursor } = multi as unknown as { terminal: Cursor };
  const write = (text: string) => void stderr.write(text);
  // Lines wrap again between frames, since a process that is killed leaves the terminal as it is.
  multi.on('start', () => write(wrapOn));
  multi.on('redraw-pre', () => {
    write(wrapOff);
    if (widthNow() !== width) clearScreenDown(stderr); // a resize might have rewrapped the old lines
    width = widthNow();
  });
  multi.on('redraw-post', () => {
    cursor.cursorRelativeReset();
    write(wrapOn);
  });
  const draw = () => {
    const colors = terminal.colors(stderr);
    const lines = linesOf({ columns: widthNow(), colors, spinner: spinner.frame().trimEnd() });
    while (bars.length < lines.length) bars.push(multi.create(1, 0, { line: '' }));
    for (const [at, bar] of bars.entries()) bar.update(0, { line: terminal.redactor.redact(lines[at] ?? '') });
  };
  const timer = setInterval(draw, 1000 / framesPerSecond);
  // Lines of the display never wrap, but a line logged above them can wrap over rows drawn earlier.
  terminal.redirectLines((line) => multi.log(`${clearBelow}${wrapOn}${line}${wrapOff}`));
  draw();
  return () => {
    clearInterval(timer);
    for (const bar of bars) bar.update(0, { line: '' });
    multi.update(); // flush the buffered log lines
    multi.stop();
    terminal.redirectLines(undefined);
  };
}
