// Makes the files of a release in release/: the npm package, the executable, an SBOM, release notes and checksums.
// `npm run release [-- FOLDER]`, after `npm version`. Publishes nothing. NPM_PACKAGE_NAME is the package's name on npm,
// such as @scope/mediactl; without it the package is private, and not for npm. The same commit makes the same bytes in any
// folder, with the same versions of Node.js and npm; scripts/test-release.mjs tests the files themselves.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildExecutable, embeddedLicenses, runtimeComponent } from './executable.mjs';
import { packRelease } from './pack.mjs';
import { createSbom, sourceDateEpoch } from './sbom.mjs';

const out = resolve(process.argv[2] ?? 'release');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
const sha256 = (name) =>
  createHash('sha256')
    .update(readFileSync(join(out, name)))
    .digest('hex');

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
// GitHub Actions sets the first two variables.
const {
  GITHUB_SERVER_URL = 'https://github.com',
  GITHUB_REPOSITORY = 'OWNER/REPOSITORY',
  NPM_PACKAGE_NAME,
} = process.env;
const repository = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
const packed = packRelease(out, NPM_PACKAGE_NAME ? { name: NPM_PACKAGE_NAME, repository } : undefined);

const name = `mediactl-${version}-linux-x64`;
const archive = `${name}.tar.gz`;
const folder = join(out, name);
buildExecutable(join(folder, 'mediactl'));
copyFileSync('LICENSE', join(folder, 'LICENSE'));
copyFileSync('man/mediactl.1', join(folder, 'mediactl.1'));
writeFileSync(
  join(folder, 'THIRD-PARTY-LICENSES.txt'),
  `${readFileSync('dist/THIRD-PARTY-LICENSES.txt', 'utf8')}${embeddedLicenses()}`,
);
// The umask, the user and the clock of the machine do not change the archive.
const reproducible = [
  ...['--sort=name', '--format=ustar', '--owner=0', '--group=0', '--numeric-owner'],
  ...['--mode=u=rwX,go=rX', `--mtime=@${sourceDateEpoch()}`],
];
run('tar', ...reproducible, '-C', out, '-cf', join(out, `${name}.tar`), name);
run('gzip', '-9n', join(out, `${name}.tar`));
rmSync(folder, { recursive: true });

writeFileSync(
  join(out, `mediactl-${version}.cdx.json`),
  await createSbom([runtimeComponent()], NPM_PACKAGE_NAME || undefined),
);

/** Returns the changes of this version, or those that have no version yet. */
function changes() {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const sectionOf = (title) =>
    new RegExp(`^## ${title}.*\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(changelog)?.[1].trim();
  return sectionOf(version.replaceAll('.', '\\.')) ?? sectionOf('Unreleased') ?? '';
}

const npmVersion = execFileSync('npm', ['--version'], { encoding: 'utf8' }).trim();
const url = `${repository}/releases/download/v${version}`;
/** The line for npm, if the package gets a name there. */
const fromNpm = NPM_PACKAGE_NAME ? `npm has the same file as ${NPM_PACKAGE_NAME}@${version}.\n\n` : '';

writeFileSync(
  join(out, 'RELEASE-NOTES.md'),
  `# mediactl ${version}

With Node.js 20.19 or newer:

\`\`\`sh
curl -fLO ${url}/${packed}
echo '${sha256(packed)}  ${packed}' | sha256sum --check &&
  npm install --global ./${packed}
\`\`\`

${fromNpm}Without Node.js, on Linux on x64 with glibc:

\`\`\`sh
curl -fLO ${url}/${archive}
echo '${sha256(archive)}  ${archive}' | sha256sum --check &&
  tar -xzf ${archive} && sudo install ${name}/mediactl /usr/local/bin
\`\`\`

The GitHub action, the GitLab example and the Dockerfile ask for the package and its SHA-256:

\`\`\`
${url}/${packed}
${sha256(packed)}
\`\`\`

docs/install.md says how to verify, upgrade and uninstall. These files were made with Node.js ${process.versions.node} and npm
${npmVersion}.

${changes()}
`,
);

const files = readdirSync(out).sort();
writeFileSync(join(out, 'SHA256SUMS'), files.map((file) => `${sha256(file)}  ${file}\n`).join(''));
for (const file of readdirSync(out).sort())
  process.stdout.write(`${String(statSync(join(out, file)).size).padStart(10)}  ${file}\n`);
