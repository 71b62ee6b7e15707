// Makes the files of a release in release/: the npm package, the executable, an SBOM, release notes and checksums.
// `npm run release [-- FOLDER]`, after `npm version`. Publishes nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildExecutable, bun } from './executable.mjs';
import { createSbom } from './sbom.mjs';

const out = resolve(process.argv[2] ?? 'release');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
run('npm', 'pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', out);

const name = `mediactl-${version}-linux-x64`;
const folder = join(out, name);
buildExecutable(join(folder, 'mediactl'));
for (const [from, to] of [
  ['LICENSE', 'LICENSE'],
  ['dist/THIRD-PARTY-LICENSES.txt', 'THIRD-PARTY-LICENSES.txt'],
  ['man/mediactl.1', 'mediactl.1'],
])
  copyFileSync(from, join(folder, to));
// The same input makes the same archive.
const reproducible = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=2026-01-01 00:00Z'];
execFileSync('tar', [...reproducible, '-C', out, '-cf', join(out, `${name}.tar`), name]);
run('gzip', '-9n', join(out, `${name}.tar`));
rmSync(folder, { recursive: true });

writeFileSync(join(out, `mediactl-${version}.cdx.json`), await createSbom([bun]));

/** Returns the changes of this version, or those that have no version yet. */
function changes() {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const sectionOf = (title) =>
    new RegExp(`^## ${title}.*\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(changelog)?.[1].trim();
  return sectionOf(version.replaceAll('.', '\\.')) ?? sectionOf('Unreleased') ?? '';
}

writeFileSync(
  join(out, 'RELEASE-NOTES.md'),
  `# mediactl ${version}

Install it with npm (Node.js 20.19 or newer), or unpack the executable, which needs nothing else than Linux on x64 with
glibc. docs/install.md says how to verify, upgrade and uninstall.

\`\`\`sh
npm install --global mediactl@${version}
tar -xzf ${name}.tar.gz && sudo install ${name}/mediactl /usr/local/bin
\`\`\`

${changes()}
`,
);

const files = readdirSync(out).sort();
writeFileSync(join(out, 'SHA256SUMS'), files.map((file) => `${sha256(join(out, file))}  ${file}\n`).join(''));
for (const file of readdirSync(out).sort())
  process.stdout.write(`${String(statSync(join(out, file)).size).padStart(10)}  ${file}\n`);
