import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { copyCheckout } from '../support/checkout.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

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

describe('npm package', () => {
  type Manifest = { name: string; private?: true; repository?: object; version: string };
  /** Packs the release in a folder of its own. */
  const packRelease = (name?: string): { manifest: Manifest; path: string } => {
    const folder = temporaryFolder();
    const published = name && { name, repository: 'https://github.com/owner/media' };
    const script = `import('./scripts/pack.mjs').then(({ packRelease }) =>
      process.stdout.write(packRelease(${JSON.stringify(folder)}, ${JSON.stringify(published)})))`;
    const file = execFileSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    const path = join(folder, file);
    const text = execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' });
    return { manifest: JSON.parse(text), path };
  };
  const filesIn = (path: string) => execFileSync('tar', ['-tzf', path], { encoding: 'utf8' }).split('\n').sort();

  it('npm refuses to publish the repository and its package, since nobody owns the name that it has there', () => {
    const { manifest, path } = packRelease();
    expect(manifest).toMatchObject({ name: 'mediactl', private: true });
    const userconfig = join(temporaryFolder(), 'npmrc');
    writeFileSync(userconfig, '//127.0.0.1:9/:_authToken=none\n'); // nothing listens there
    const options = [
      '--registry',
      'http://127.0.0.1:9/',
      '--userconfig',
      userconfig,
      '--fetch-retries',
      '0',
      '--loglevel',
      'error',
    ];
    for (const what of [path, root]) {
      const publish = spawnSync('npm', ['publish', what, '--ignore-scripts', ...options], { encoding: 'utf8' });
      expect([publish.status, publish.stderr]).toEqual([1, expect.stringContaining('EPRIVATE')]);
    }
  });

  it('a release with a scoped name has the same files, may be published, and names its repository for the provenance', () => {
    const { manifest, path } = packRelease('@owner/media');
    expect(manifest).toMatchObject({
      name: '@owner/media',
      repository: { type: 'git', url: 'git+https://github.com/owner/media.git' },
    });
    expect(manifest).not.toHaveProperty('private');
    expect(path).toMatch(new RegExp(`/mediactl-${manifest.version}\\.tgz$`));
    expect(filesIn(path)).toEqual(filesIn(packRelease().path));
    expect(readFileSync(packRelease('@owner/media').path).equals(readFileSync(path))).toBe(true);
  });

  it.each(['mediactl', '@owner', '@owner/Media', '@owner/a b'])(
    'a release cannot be named %s, which has no valid scope',
    (name) => {
      expect(() => packRelease(name)).toThrow('it has to be a scoped name');
    },
  );
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
