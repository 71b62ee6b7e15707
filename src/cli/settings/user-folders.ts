import envPaths from 'env-paths';

/** Returns the default folders of this user. env-paths reads HOME when it is loaded, and so this file. */
export const findUserFolders = () => {
  const { config, data } = envPaths('mediactl', { suffix: '' });
  return { config, state: data };
};
