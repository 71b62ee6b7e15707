import type { DecideNotice } from '../../client/upload/decide/decision.ts';
import { formatBytes, pluralize } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';

const maxNamesInWarning = 10;

/** Prints what was noticed when the files of a run were decided. */
export function reportDecideNotice({ terminal }: Pick<Context, 'terminal'>, each: DecideNotice): void {
  switch (each.notice) {
    case 'reading':
      terminal.info(
        `reading ${pluralize(each.files, 'file')}, ${formatBytes(each.bytes)}: they may have been renamed since they were uploaded`,
      );
      break;
    case 'listing':
      terminal.info(`comparing the files with ${each.assets} assets in their folder`);
      break;
    case 'same_name':
      terminal.warn(formatSameName(each.paths));
      break;
    case 'not_compared':
      terminal.warn(
        `files that this machine has not uploaded are not compared with the folder: ${each.error.explanation.reason ?? each.error.message}`,
      );
  }
}

function formatSameName(paths: readonly string[]): string {
  const names = paths.slice(0, maxNamesInWarning).map(escapeControls);
  const others = paths.length > names.length ? ', …' : '';
  const have = paths.length === 1 ? 'file has' : 'files have';
  return `${paths.length} ${have} the name of another asset in the folder, and will be uploaded beside it: ${names.join(', ')}${others}; --existing name skips such files`;
}
