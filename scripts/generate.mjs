// Writes the files generated from the command tree and the assumptions; --check fails if they are outdated.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { interfaceFiles } from './interface.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { generatedFiles, publicInterface } = createRequire(import.meta.url)('../dist/generated.cjs');

const current = (path) => {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return undefined;
  }
};

const listed = {
  ...interfaceFiles(await publicInterface(), (path) => current(path) ?? ''),
  'test/interface/library.txt': current('dist/index.d.mts'),
};
const stale = Object.entries({ ...(await generatedFiles()), ...listed }).filter(
  ([path, text]) => current(path) !== text,
);
if (process.argv.includes('--check')) {
  for (const [path] of stale) process.stderr.write(`${path} is out of date: run npm run generate\n`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    process.stdout.write(`wrote ${path}\n`);
  }
}
