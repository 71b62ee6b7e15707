// Lists what a release contains, as an SBOM in CycloneDX 1.6: the bundled packages, by the bundler's metafile, and the
// packages that npm installs beside mediactl, by the lock file.
import { readFileSync } from 'node:fs';
import { Enums, Models, Serialize, Spec, Validation } from '@cyclonedx/cyclonedx-library';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const purl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

function component({ name, version, license, description, integrity }, scope = Enums.ComponentScope.Required) {
  const [, group, own] = /^(?:(@[^/]+)\/)?(.+)$/.exec(name);
  const made = new Models.Component(Enums.ComponentType.Library, own, {
    ...{ group, version, description, scope },
    bomRef: purl(name, version),
    purl: purl(name, version),
  });
  if (license)
    made.licenses.add(
      /^[\w.+-]+$/.test(license) ? new Models.NamedLicense(license) : new Models.LicenseExpression(license),
    );
  const [algorithm, hash] = integrity?.split('-') ?? [];
  if (algorithm === 'sha512')
    made.hashes.set(Enums.HashAlgorithm['SHA-512'], Buffer.from(hash, 'base64').toString('hex'));
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

/** @param parts more components, such as the runtime of an executable @returns the SBOM as JSON text */
export async function createSbom(parts = []) {
  const { name, version, description, license } = readJson('package.json');
  const main = component({ name, version, description, license }, undefined);
  main.type = Enums.ComponentType.Application;
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: main }) });
  const locked = readJson('package-lock.json').packages;
  for (const folder of readJson('node_modules/.cache/bundled.json'))
    bom.components.add(component({ ...readJson(`${folder}/package.json`), integrity: locked[folder]?.integrity }));
  for (const each of installedPackages())
    bom.components.add(
      component(each, each.isOptional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required),
    );
  for (const part of parts) bom.components.add(component(part));
  for (const each of bom.components) main.dependencies.add(each.bomRef);
  const text = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)).serialize(bom, {
    sortLists: true,
    space: 2,
  });
  const problems = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text);
  if (problems) throw new Error(`the SBOM is not valid: ${JSON.stringify(problems)}`);
  return `${text}\n`;
}
