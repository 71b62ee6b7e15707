// Lists what a release contains, as an SBOM in CycloneDX 1.6: the bundled packages, by the bundler's metafile, the
// packages that npm installs beside mediactl, by the lock file, and the compiled code inside them. The same commit makes
// the same bytes.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Enums, Models, Serialize, SPDX, Spec, Validation } from '@cyclonedx/cyclonedx-library';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const purl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** Returns the time of the release in seconds since 1970: `SOURCE_DATE_EPOCH`, or the time of the commit. */
export const sourceDateEpoch = () =>
  Number(process.env.SOURCE_DATE_EPOCH ?? execFileSync('git', ['log', '-1', '--format=%ct'], { encoding: 'utf8' }));

/**
 * Compiled code inside packages, which no package.json lists. Each version is that of the source that the package's
 * release was built from, or what its binary states; it is missing where neither is known. After an upgrade of such a
 * package, look its parts up again: the build fails until then.
 */
const compiledParts = {
  'jq-web@0.6.2': [
    { name: 'jq', version: '1.7.1', license: 'MIT', purl: 'pkg:github/jqlang/jq@jq-1.7.1' },
    { name: 'oniguruma', version: '6.9.8', license: 'BSD-2-Clause', purl: 'pkg:github/kkos/oniguruma@v6.9.8' },
    { name: 'decNumber', version: '3.68', license: 'ICU' },
  ],
  'libsql@0.5.29': [
    { name: 'SQLite', version: '3.45.1', license: 'blessing', purl: 'pkg:generic/sqlite@3.45.1' },
    {
      ...{ name: 'SQLite3 Multiple Ciphers', version: '1.8.1', license: 'MIT' },
      purl: 'pkg:github/utelle/SQLite3MultipleCiphers@v1.8.1',
    },
    { name: 'ring', version: '0.17.8', license: 'ISC AND OpenSSL', purl: 'pkg:cargo/ring@0.17.8' },
  ],
  '@napi-rs/blake-hash@1.3.4': [
    { name: 'BLAKE3', version: '1.5.0', license: 'CC0-1.0 OR Apache-2.0', purl: 'pkg:cargo/blake3@1.5.0' },
  ],
  'hash-wasm@4.13.0': [{ name: 'BLAKE3', license: 'CC0-1.0 OR Apache-2.0', description: 'in C, as WebAssembly' }],
  '@napi-rs/keyring@2.1.2': [
    { name: 'libdbus', version: '1.14.4', license: 'AFL-2.1 OR GPL-2.0-or-later', purl: 'pkg:generic/dbus@1.14.4' },
  ],
  'undici@7.30.2': [{ name: 'llhttp', license: 'MIT', description: 'as WebAssembly' }],
};

const licenseOf = (text) => {
  if (SPDX.isSupportedSpdxId(text)) return new Models.SpdxLicense(text);
  return / (OR|AND|WITH) /.test(text) ? new Models.LicenseExpression(text) : new Models.NamedLicense(text);
};

/** @param parent reference of the component that contains this one; none for a package of npm */
function component(entry, { scope = Enums.ComponentScope.Required, parent } = {}) {
  const { name, version, license, author, description, integrity } = entry;
  const { parts = compiledParts[`${name}@${version}`] ?? [] } = entry;
  const [, group, own] = /^(?:(@[^/]+)\/)?(.+)$/.exec(name);
  const bomRef = parent === undefined ? purl(name, version) : `${parent}#${name}`;
  const made = new Models.Component(Enums.ComponentType.Library, own, {
    ...{ group, version, description, scope, bomRef },
    purl: parent === undefined ? bomRef : entry.purl,
  });
  if (license) made.licenses.add(licenseOf(license));
  else if (parent === undefined) throw new Error(`${name} ${version} does not declare a license`);
  // `author` is an object, or a text such as "Name <address> (URL)".
  const supplier = (author?.name ?? author)?.replace(/\s*[<(].*$/, '');
  if (supplier) made.supplier = new Models.OrganizationalEntity({ name: supplier });
  const [algorithm, hash] = integrity?.split('-') ?? [];
  if (algorithm === 'sha512')
    made.hashes.set(Enums.HashAlgorithm['SHA-512'], Buffer.from(hash, 'base64').toString('hex'));
  for (const part of parts) made.components.add(component(part, { scope, parent: bomRef }));
  return made;
}

/** Returns the packages that `npm install` of mediactl brings, direct and indirect, with their entries in the lock file. */
function installedPackages() {
  const { packages } = readJson('package-lock.json');
  const found = new Map();
  const visit = (entry, isOptional) => {
    for (const [names, optional] of [
      [entry.dependencies, isOptional],
      [entry.optionalDependencies, true],
    ])
      for (const name of Object.keys(names ?? {})) {
        const locked = packages[`node_modules/${name}`];
        if (!locked || found.has(name)) continue;
        found.set(name, { ...locked, name, isOptional: optional });
        visit(locked, optional);
      }
  };
  visit(packages[''], false);
  return [...found.values()];
}

/**
 * @param parts more components, such as the runtime of an executable
 * @param name of the package, if a release gives it another one than package.json
 * @returns the SBOM as JSON text
 */
export async function createSbom(parts = [], name = readJson('package.json').name) {
  const { version, description, license } = readJson('package.json');
  const supplier = new Models.OrganizationalEntity({ name: 'the mediactl authors' });
  const main = component({ name, version, description, license, author: supplier.name });
  main.type = Enums.ComponentType.Application;
  const timestamp = new Date(sourceDateEpoch() * 1000);
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: main, supplier, timestamp }) });
  const locked = readJson('package-lock.json').packages;
  const listed = new Set();
  // A package that is both bundled and installed is listed once: two equal references would get random names.
  const add = (entry, scope) => {
    const key = `${entry.name}@${entry.version}`;
    if (!listed.has(key)) bom.components.add(component(entry, { scope }));
    listed.add(key);
  };
  for (const folder of readJson('node_modules/.cache/bundled.json'))
    add({ ...readJson(`${folder}/package.json`), integrity: locked[folder]?.integrity });
  for (const each of installedPackages()) {
    const manifest = `node_modules/${each.name}/package.json`; // missing for other platforms
    const { author } = existsSync(manifest) ? readJson(manifest) : {};
    add({ ...each, author }, each.isOptional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required);
  }
  for (const part of parts) add(part);
  const unknown = Object.keys(compiledParts).filter((key) => !listed.has(key));
  if (unknown.length > 0)
    throw new Error(`scripts/sbom.mjs: the release has no ${unknown}; look up the compiled parts of its new version`);
  for (const each of bom.components) main.dependencies.add(each.bomRef);
  const text = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)).serialize(bom, {
    sortLists: true,
    space: 2,
  });
  const problems = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text);
  if (problems) throw new Error(`the SBOM is not valid: ${JSON.stringify(problems)}`);
  return `${text}\n`;
}
