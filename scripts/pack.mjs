// Packs the npm package of a release. In this repository it is private, since nobody owns its name on npm, which refuses
// to publish it. A release gets its scoped name, and the repository that npm compares with the provenance.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const scopedName = /^@[a-z0-9-][a-z0-9._-]*\/[a-z0-9-][a-z0-9._-]*$/;

/**
 * Writes `mediactl-VERSION.tgz` to a folder. The same files make the same bytes.
 * @param out the folder, which exists
 * @param published the name on npm, such as `@scope/mediactl`, and the URL of the repository; without it the package
 *   stays private
 * @returns the name of the file
 * @throws Error if the name has no scope
 */
export function packRelease(out, published) {
  if (published && !scopedName.test(published.name))
    throw new Error(`NPM_PACKAGE_NAME is ${published.name}; it has to be a scoped name, such as @scope/mediactl`);
  const stage = mkdtempSync(join(tmpdir(), 'mediactl-pack-'));
  const npmPack = (...paths) =>
    execFileSync('npm', ['pack', ...paths, '--silent', '--ignore-scripts', '--pack-destination', stage], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim();
  try {
    const file = npmPack();
    let packed = file;
    if (published) {
      execFileSync('tar', ['-xzf', join(stage, file), '-C', stage]);
      const manifestFile = join(stage, 'package/package.json');
      const { private: _, ...manifest } = JSON.parse(readFileSync(manifestFile, 'utf8'));
      const { name, repository } = published;
      const renamed = { ...manifest, name, repository: { type: 'git', url: `git+${repository}.git` } };
      writeFileSync(manifestFile, `${JSON.stringify(renamed, null, 2)}\n`);
      packed = npmPack(join(stage, 'package'));
    }
    cpSync(join(stage, packed), join(resolve(out), file));
    return file;
  } finally {
    rmSync(stage, { recursive: true });
  }
}

/** Returns the manifest of a packed package. @param path of the tarball */
export const readPackedManifest = (path) =>
  JSON.parse(execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' }));
