import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './temporary-folder.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Build output, and files that a build does not need. */
const notCopied = [
  '.git',
  'node_modules',
  'coverage',
  'dist',
  'dist.new',
  'dist.old',
  'dist-executable',
  'man',
  'release',
];

/** Large packages that only tests and checks need. */
const notBuilding =
  /^(\.cache|@arethetypeswrong|@biomejs|@rolldown|axe-core|knip|lightningcss.*|playwright-core|.*tree-sitter.*)$/;

/**
 * Copies the checkout and its packages to a new folder with that name, in which nothing is built yet.
 * @param withCompiler also copies the compiler of the executable, if this checkout has downloaded it
 * @returns the path of the folder
 */
export function copyCheckout(name: string, { withCompiler = false } = {}): string {
  const folder = join(temporaryFolder(), name);
  const copy = (from: string, names: string[], to: string) => {
    mkdirSync(join(folder, to), { recursive: true });
    execFileSync('cp', ['-a', ...names.map((each) => join(repository, from, each)), join(folder, to)]);
  };
  copy(
    '',
    readdirSync(repository).filter((each) => !notCopied.includes(each)),
    '',
  );
  copy(
    'node_modules',
    readdirSync(join(repository, 'node_modules')).filter((each) => !notBuilding.test(each)),
    'node_modules',
  );
  if (withCompiler) copy('node_modules/.cache', ['bun'], 'node_modules/.cache');
  return folder;
}
