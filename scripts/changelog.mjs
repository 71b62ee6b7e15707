// Called by `npm version`: moves the "Unreleased" entries of the changelog to the new version, dated today.
import { readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const changelog = readFileSync('CHANGELOG.md', 'utf8');
const [, unreleased] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? [];
if (!unreleased?.trim()) {
  process.stderr.write('CHANGELOG.md: the "Unreleased" section is empty\n');
  process.exit(1);
}
const today = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', changelog.replace(/^## Unreleased\n/m, `## Unreleased\n\n## ${version} (${today})\n`));
