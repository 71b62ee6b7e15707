export const projectFileName = '.mediactl.json';

/** Name of a file in each state folder that has recorded an upload, by which the folder is recognized. */
export const stateMarker = 'receipts.id';

/** Returns true for a name that makes a file the settings of a project, or its directory a state folder. */
export const isOwnName = (name: string) => [projectFileName, stateMarker].includes(name.toLowerCase());

const usualPath = /(?:^|\/)mediactl\/(?:config\.json[^/]*|[^/]+\.v8(?:\.\d+)?)$/i;

/**
 * Returns true for the path of a file of mediactl: the settings of a project, a configuration in its usual place, or
 * compiled code. In any case, since some file systems ignore it.
 *
 * @param path with slashes
 */
export const isOwnPath = (path: string) =>
  path.toLowerCase().split('/').at(-1) === projectFileName || usualPath.test(path);
