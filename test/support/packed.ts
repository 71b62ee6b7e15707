import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './temporary-folder.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

type Dependencies = { dependencies?: object; optionalDependencies?: object };
type Lock = { packages: Record<string, Dependencies> };

let packed: string | undefined;

/**
 * Packs mediactl as `npm pack` does, with its dependencies from this checkout inside, so that npm installs it without a
 * registry. It is packed once per test worker. @returns the path of the tarball
 */
export const packWithDependencies = (): string => {
  packed ??= pack();
  return packed;
};

function pack(): string {
  const folder = temporaryFolder();
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: repository, stdio: 'ignore' });
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const file = join(folder, `mediactl-${version}.tgz`);
  execFileSync('tar', ['-xzf', file, '-C', folder]);
  const { packages } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as Lock;
  for (const path of findDependencies(packages))
    if (existsSync(join(repository, path)))
      cpSync(join(repository, path), join(folder, 'package', path), { recursive: true });
  const manifestFile = join(folder, 'package/package.json');
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
  manifest.bundleDependencies = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  writeFileSync(manifestFile, JSON.stringify(manifest));
  execFileSync('tar', ['-cf', file, '-C', folder, 'package']); // npm also accepts an uncompressed tarball
  return file;
}

/** Returns the folders of the packages that mediactl needs to run, without those of its workspaces. */
function findDependencies(packages: Lock['packages']): ReadonlySet<string> {
  const found = new Set<string>();
  const add = ({ dependencies = {}, optionalDependencies = {} }: Dependencies): void => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = `node_modules/${name}`;
      if (found.has(path)) continue;
      found.add(path);
      add(packages[path] ?? {});
    }
  };
  add(packages[''] ?? {});
  return found;
}

/** Environment in which npm installs globally into a folder, without a registry and without the user cache. */
export const offlineNpm = (prefix: string) => ({
  npm_config_prefix: prefix,
  npm_config_cache: `${prefix}-cache`,
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
});
