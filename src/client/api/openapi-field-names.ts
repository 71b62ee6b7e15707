import { fieldNamesFor, type NameKey, type NameOverrides } from '../../contract/assumptions.ts';
import { asArray, asObject, type JsonObject } from '../../contract/json-values.ts';
import { apiPrefix } from '../../contract/paths.ts';
import { allowListName, findRestrictionField } from './embed-settings.ts';

/**
 * Infers field names that the specification does not show from the OpenAPI 3 document of the service. Omits
 * ambiguous names.
 *
 * @returns the field names, and in `ambiguous` the boolean embed settings that might mean something else or the
 *   opposite
 */
export function inferFieldNames(document: unknown): { names: NameOverrides; ambiguous: string[] } {
  const description = new OpenApiDocument(document);
  const field = description.fieldName.bind(description);
  const page = description.responseProperties('get', '/assets/');
  const editable = description.requestProperties('patch', '/assets/{}/');
  const newFolder = description.requestProperties('post', '/workspaces/{}/folders/');
  const folder = description.responseProperties('get', '/workspaces/{}/folders/');
  const embed = description.responseProperties('get', '/workspaces/{}/embed-settings/');
  const newDomain = description.requestProperties('post', '/workspaces/{}/embed-domains/');
  const newSettings = description.requestProperties('patch', '/workspaces/{}/embed-settings/');
  const switches = description.fieldNames(newSettings, 'boolean');
  const found: Record<NameKey, string | undefined> = {
    page_total: field('page_total', page, 'integer'),
    folder_name: field('folder_name', newFolder, 'string', /name|title/),
    folder_parent: field('folder_parent', newFolder, 'string', /parent/),
    folder_children: field('folder_children', folder, 'array'),
    embed_enabled: findRestrictionField(switches),
    embed_domains: field('embed_domains', embed, 'array', allowListName),
    embed_domain: field('embed_domain', newDomain, 'string'),
    asset_tags: field('asset_tags', editable, 'array', /tag/),
    asset_parent: field('asset_parent', editable, 'string', /parent|folder/),
  };
  const names = Object.fromEntries(Object.entries(found).filter(([, name]) => name !== undefined)) as NameOverrides;
  return { names, ambiguous: found.embed_enabled === undefined ? switches : [] };
}

class OpenApiDocument {
  readonly #document: unknown;

  constructor(document: unknown) {
    this.#document = document;
  }

  requestProperties(method: string, path: string): JsonObject {
    return this.#bodyProperties(this.#operation(method, path).requestBody);
  }

  /** Returns the properties of the JSON response of an operation, or of the array items if the response is an array. */
  responseProperties(method: string, path: string): JsonObject {
    const responses = this.#follow(this.#operation(method, path), 'responses');
    const success = Object.keys(responses).find((status) => /^2/.test(status)) ?? '';
    return this.#bodyProperties(responses[success]);
  }

  fieldNames(properties: JsonObject, type: string): string[] {
    return Object.keys(properties).filter((name) => this.#isOfType(properties[name], type));
  }

  /** Returns the only property of a type. Prefers an assumed name if there are several, or returns undefined. */
  fieldName(key: NameKey, properties: JsonObject, type: string, pattern = /./) {
    const fields = this.fieldNames(properties, type);
    const names = fields.filter((name) => name !== 'items' && pattern.test(name));
    const guess = fieldNamesFor(key).find((name) => names.includes(name));
    return names.length === 1 ? names[0] : guess;
  }

  /** Finds an operation by method and path, ignoring the API prefix and the names of path parameters. */
  #operation(method: string, path: string): JsonObject {
    const paths = this.#follow(this.#document, 'paths');
    const same = Object.keys(paths).find((each) => each.replace(apiPrefix, '').replace(/\{[^}]*\}/g, '{}') === path);
    return this.#follow(paths, same ?? '', method);
  }

  #bodyProperties(body: unknown): JsonObject {
    return this.#properties(this.#follow(body, 'content', 'application/json', 'schema'));
  }

  #properties(schema: JsonObject): JsonObject {
    const items = this.#follow(schema, 'items');
    if (Object.keys(items).length > 0) return this.#properties(items);
    const parts = alternativesOf(schema).map((each) => this.#properties(this.#follow(each)));
    return Object.assign({}, ...parts, this.#follow(schema, 'properties'));
  }

  #isOfType(value: unknown, type: string): boolean {
    const schema = this.#follow(value);
    return [schema.type].flat().includes(type) || alternativesOf(schema).some((each) => this.#isOfType(each, type));
  }

  /** Follows keys from a value, and each `$ref` on the way. Returns an empty object if they do not lead to an object. */
  #follow(value: unknown, ...keys: string[]): JsonObject {
    let node = asObject(value);
    for (let hops = 0; typeof node.$ref === 'string' && hops < 10; hops++) {
      const steps = node.$ref.replace(/^#\//, '').split('/');
      const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
      node = asObject(names.reduce((at: unknown, name) => asObject(at)[name], this.#document));
    }
    const [key, ...rest] = keys;
    return key === undefined ? node : this.#follow(node[key], ...rest);
  }
}

const alternativesOf = ({ allOf, anyOf, oneOf }: JsonObject): unknown[] => [allOf, anyOf, oneOf].flatMap(asArray);
