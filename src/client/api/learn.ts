import { type NameKey, type NameOverrides, namesFor } from '../../contract/assumptions.ts';
import { apiPrefix } from '../../contract/paths.ts';
import { allowListName, switchAmong } from './embed-settings.ts';

/** An object of an OpenAPI 3 document or of its JSON Schemas. */
type Node = { [name: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Infers the field names that the specification does not show from the service's OpenAPI 3 document. Returns
 * only unambiguous ones: a single field of the required type.
 *
 * @returns also `ambiguous`: boolean embed settings that may mean something else or the opposite
 */
export function namesIn(document: unknown): { names: NameOverrides; doubtful: string[] } {
  const description = new Description(document);
  const field = description.fieldName.bind(description);
  const page = description.answer('get', '/assets/');
  const editable = description.body('patch', '/assets/{}/');
  const newFolder = description.body('post', '/workspaces/{}/folders/');
  const folder = description.answer('get', '/workspaces/{}/folders/');
  const embed = description.answer('get', '/workspaces/{}/embed-settings/');
  const newDomain = description.body('post', '/workspaces/{}/embed-domains/');
  const newSettings = description.body('patch', '/workspaces/{}/embed-settings/');
  const switches = description.fieldNames(newSettings, 'boolean');
  const found: Record<NameKey, string | undefined> = {
    page_total: field('page_total', page, 'integer'),
    folder_name: field('folder_name', newFolder, 'string', /name|title/),
    folder_parent: field('folder_parent', newFolder, 'string', /parent/),
    folder_children: field('folder_children', folder, 'array'),
    embed_enabled: switchAmong(switches),
    embed_domains: field('embed_domains', embed, 'array', allowListName),
    embed_domain: field('embed_domain', newDomain, 'string'),
    asset_tags: field('asset_tags', editable, 'array', /tag/),
  };
  const names = Object.fromEntries(
    Object.entries(found).filter(([, name]) => name !== undefined),
  ) as NameOverrides;
  return { names, doubtful: found.embed_enabled === undefined ? switches : [] };
}

class Description {
  readonly #document: Node;

  constructor(document: unknown) {
    this.#document = isNode(document) ? document : {};
  }

  /** Returns the properties of the JSON request body of an operation. */
  body(method: string, path: string): Node {
    return this.#properties(this.#jsonOf(this.#operation(method, path).requestBody));
  }

  /** Returns the properties of the JSON response of an operation, or of its items if it is an array. */
  answer(method: string, path: string): Node {
    const responses = this.#resolved(this.#operation(method, path).responses);
    const success = Object.keys(responses).find((status) => /^2/.test(status)) ?? '';
    return this.#properties(this.#jsonOf(responses[success]));
  }

  fieldNames(properties: Node, type: string): string[] {
    return Object.keys(properties).filter((name) => this.#isOfType(properties[name], type));
  }

  /** Returns the only property of a type, or the one of several that is an assumed name. */
  fieldName(key: NameKey, properties: Node, type: string, fits = /./) {
    const fields = this.fieldNames(properties, type);
    const names = fields.filter((name) => name !== 'items' && fits.test(name));
    const guess = namesFor(key).find((name) => names.includes(name));
    return names.length === 1 ? names[0] : guess;
  }

  /** Finds an operation. Paths are compared without the API prefix and parameter names. */
  #operation(method: string, path: string): Node {
    const paths = this.#resolved(this.#document.paths);
    const same = Object.keys(paths).find(
      (each) => each.replace(apiPrefix, '').replace(/\{[^}]*\}/g, '{}') === path,
    );
    return this.#resolved(this.#resolved(paths[same ?? ''])[method]);
  }

  #jsonOf(holder: unknown): Node {
    const content = this.#resolved(this.#resolved(holder).content);
    return this.#resolved(this.#resolved(content['application/json']).schema);
  }

  #properties(schema: Node): Node {
    const items = this.#resolved(schema.items);
    if (Object.keys(items).length > 0) return this.#properties(items);
    const parts = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) =>
      Array.isArray(list) ? list.map((each) => this.#properties(this.#resolved(each))) : [],
    );
    return Object.assign({}, ...parts, this.#resolved(schema.properties));
  }

  #isOfType(value: unknown, type: string): boolean {
    const schema = this.#resolved(value);
    const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray).flat();
    return (
      [schema.type].flat().includes(type) || alternatives.some((each) => this.#isOfType(each, type))
    );
  }

  /** Resolves `$ref` within the document. Returns an empty object for anything that is not an object. */
  #resolved(value: unknown): Node {
    let node = isNode(value) ? value : {};
    for (let hops = 0; typeof node.$ref === 'string' && hops < 10; hops++) {
      const steps = node.$ref.replace(/^#\//, '').split('/');
      const target = steps.reduce<unknown>(
        (at, step) => (isNode(at) ? at[step.replaceAll('~1', '/').replaceAll('~0', '~')] : {}),
        this.#document,
      );
      node = isNode(target) ? target : {};
    }
    return node;
  }
}
