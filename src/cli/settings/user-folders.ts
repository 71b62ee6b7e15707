import envPaths from 'env-paths';

/** Default folders of this user for configuration and state. Loaded once HOME is known: the package reads it at once. */
export const findUserFolders = () => {
  const { config, data } = envPaths('mediactl', { suffix: '' });
  return { config, state: data };
};
