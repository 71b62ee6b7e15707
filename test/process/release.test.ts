import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { copyCheckout } from '../support/checkout.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Creates the SBOM of a checkout that is built, for a release at a given time. */
const createSbom = (cwd: string): string => {
  const script =
    "import('./scripts/sbom.mjs').then(async ({ createSbom }) => process.stdout.write(await createSbom()))";
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1767225600' };
  return execFileSync(process.execPath, ['-e', script], { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 24 });
};

describe('SBOM', () => {
  type Component = {
    name: string;
    group?: string;
    version: string;
    scope: string;
    licenses?: object[];
    components?: Component[];
  };
  let metadata: { timestamp: string; supplier: { name: string }; component: Component };
  let components: Component[];
  beforeAll(() => {
    const { specVersion, ...bom } = JSON.parse(createSbom(root)); // createSbom has validated it
    expect(specVersion).toBe('1.6');
    ({ metadata, components } = bom);
  });

  it('the SBOM lists each bundled or installed package with its version and license', () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
    expect([metadata.component.name, metadata.component.version]).toEqual(['mediactl', version]);
    const scopes = new Map(components.map((each) => [each.name, each.scope]));
    for (const name of ['undici', 'commander', 'bullmq', 'prom-client', 'jq-web'])
      expect(scopes.get(name)).toBe('required');
    for (const name of ['keyring', 'libsql']) expect(scopes.get(name)).toBe('optional');
    for (const each of components) expect([each.name, each.version]).toEqual([each.name, expect.stringMatching(/^\d/)]);
    const unlicensed = components.filter(({ licenses = [] }) => licenses.length === 0);
    expect(unlicensed.map(({ name }) => name)).toEqual([]);
  });

  it('the SBOM names its supplier, and has the time of the release instead of the time of the build', () => {
    expect(metadata.supplier.name).toBe('the mediactl authors');
    expect(metadata.timestamp).toBe('2026-01-01T00:00:00.000Z');
  });

  it('the SBOM lists the compiled code inside packages, with the versions that their binaries state', () => {
    const partsOf = (name: string) =>
      Object.fromEntries(
        (components.find((each) => each.name === name)?.components ?? []).map((part) => [part.name, part.version]),
      );
    const binary = (path: string) => readFileSync(join(root, 'node_modules', path), 'latin1');
    const Database = createRequire(import.meta.url)('libsql');
    const database = new Database(':memory:');
    const [{ sqlite, ciphers }] = database
      .prepare('SELECT sqlite_version() AS sqlite, sqlite3mc_version() AS ciphers')
      .all();
    database.close();
    expect(partsOf('libsql')).toMatchObject({ SQLite: sqlite, 'SQLite3 Multiple Ciphers': ciphers.split(' ').at(-1) });
    expect(Object.keys(partsOf('jq-web'))).toEqual(['decNumber', 'jq', 'oniguruma']);
    expect(partsOf('hash-wasm')).toHaveProperty('BLAKE3');
    if (process.platform !== 'linux' || process.arch !== 'x64') return;
    const blake = binary('@napi-rs/blake-hash-linux-x64-gnu/blake.linux-x64-gnu.node');
    expect(blake).toContain(`/blake3-${partsOf('blake-hash').BLAKE3}/`);
    const keyring = binary('@napi-rs/keyring-linux-x64-gnu/keyring.linux-x64-gnu.node');
    expect(keyring).toContain(`libdbus ${partsOf('keyring').libdbus}`);
    expect(binary('@libsql/linux-x64-gnu/index.node')).toContain(`/ring-${partsOf('libsql').ring}/`);
  });
});

it('the bundles, the manual page and the SBOM have the same bytes if they are built in another folder', () => {
  const checkout = copyCheckout('a folder elsewhere');
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: checkout });
  const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8');
  const built = [...readdirSync(join(root, 'dist')).map((name) => `dist/${name}`), 'man/mediactl.1'];
  const different = built.filter((path) => read(checkout, path) !== read(root, path));
  expect(different, 'if dist/ is older than src/, run npm run build first').toEqual([]);
  expect(readdirSync(join(checkout, 'dist'))).toEqual(readdirSync(join(root, 'dist')));
  expect(createSbom(checkout)).toBe(createSbom(root));
});
