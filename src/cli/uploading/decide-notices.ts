import type { DecideNotice, RenamedFiles } from '../../client/upload/decide/decision.ts';
import { formatBytes, pluralize } from '../../contract/figures.ts';
import { escapeControls, quoteForShell } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';

const maxNamesInWarning = 10;

/** Prints what was noticed when the files of a run were decided. */
export function reportDecideNotice({ terminal }: Pick<Context, 'terminal'>, each: DecideNotice): void {
  switch (each.notice) {
    case 'reading':
      terminal.info(
        `reading ${pluralize(each.files, 'file')}, ${formatBytes(each.bytes)}: files with the same name and size were uploaded from paths that no longer exist`,
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
      break;
    case 'renamed':
      terminal.warn(formatRenamed(each));
  }
}

function formatSameName(paths: readonly string[]): string {
  const names = paths.slice(0, maxNamesInWarning).map(escapeControls);
  const others = paths.length > names.length ? ', …' : '';
  const have = paths.length === 1 ? 'file has' : 'files have';
  return `${paths.length} ${have} the name of another asset in the folder, and will be uploaded beside it: ${names.join(', ')}${others}; --existing name skips such files`;
}

function formatRenamed({ count, from, to, fromFolder, toFolder, isPruned, canRenameFolder }: RenamedFiles): string {
  const what = `${pluralize(count, 'file')} of ${from} ${count === 1 ? 'is' : 'are'} now in ${to}`;
  const old = isPruned ? 'move to the trash once the new ones are ready' : 'stay';
  const sent = escapeControls(
    `${what}: they will be uploaded again, to ${toFolder}; the old assets in ${fromFolder} ${old}`,
  );
  if (!canRenameFolder) return sent;
  const name = toFolder.split('/').at(-1) ?? '';
  const rename = `mediactl folders rename ${quoteForShell(fromFolder)} ${quoteForShell(name)}`;
  return `${sent}. To avoid that, stop, run ${escapeControls(rename)}, then the same command`;
}
