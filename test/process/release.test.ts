import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('the SBOM lists each bundled or installed package with its version and license', () => {
  const script =
    "import('./scripts/sbom.mjs').then(async ({ createSbom }) => process.stdout.write(await createSbom()))";
  const text = execFileSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 24 });
  const { specVersion, metadata, components } = JSON.parse(text); // createSbom has validated it
  const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  expect([specVersion, metadata.component.name, metadata.component.version]).toEqual(['1.6', 'mediactl', version]);
  type Component = { name: string; group?: string; version: string; licenses?: object[]; scope: string };
  const scopes = new Map(components.map((each: Component) => [each.name, each.scope]));
  for (const name of ['undici', 'commander', 'bullmq', 'prom-client', 'jq-web'])
    expect(scopes.get(name)).toBe('required');
  for (const name of ['keyring', 'libsql']) expect(scopes.get(name)).toBe('optional');
  for (const each of components as Component[])
    expect([each.name, each.version]).toEqual([each.name, expect.stringMatching(/^\d/)]);
  const unlicensed = (components as Component[]).filter(({ licenses = [] }) => licenses.length === 0);
  expect(unlicensed.map(({ name }) => name)).toEqual([]);
});
