import { leftBy } from '../../shared/leftovers.ts';
import { isOwnPath, stateMarker } from '../../shared/own-names.ts';

/**
 * Returns true for an entry of a folder that the page does not upload, as in a directory that is named in a terminal.
 *
 * @param names of all entries of its folder
 */
export const isLeftOut = (path: string, isDirectory: boolean, names: ReadonlySet<string>) =>
  isOwnPath(path) ||
  names.has(stateMarker) ||
  leftBy(path.slice(path.lastIndexOf('/') + 1), isDirectory, (name) => names.has(name)) !== undefined;

/** Returns the paths of files that are left out of a chosen folder, whose name each path begins with. */
export function findLeftOut(paths: readonly string[]): Set<string> {
  const namesIn = new Map<string, Set<string>>();
  const partsOf = (path: string) =>
    path
      .split('/')
      .map((name, at, all) => ({ name, folder: all.slice(0, at).join('/'), isLast: at === all.length - 1 }));
  for (const path of paths)
    for (const { name, folder } of partsOf(path)) namesIn.set(folder, (namesIn.get(folder) ?? new Set()).add(name));
  return new Set(
    paths.filter((path) =>
      // The folder itself was chosen.
      partsOf(path).some(
        ({ name, folder, isLast }) =>
          folder !== '' && isLeftOut(`${folder}/${name}`, !isLast, namesIn.get(folder) ?? new Set()),
      ),
    ),
  );
}
