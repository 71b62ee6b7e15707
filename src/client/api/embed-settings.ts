import { domainToASCII } from 'node:url';
import { fieldNamesFor, type NameOverrides } from '../../contract/assumptions.ts';
import type { EmbedRecord } from '../../contract/types.ts';
import { asObject, asText, type JsonObject } from '../../shared/json-values.ts';
import { CodedError } from '../errors.ts';

/** Converts a host name to lower-case ASCII (IDNA) for comparison. Any other text is only lowercased. */
const normalizeDomain = (domain: string) => (domainToASCII(domain) || domain).toLowerCase();

/** Embed settings of a workspace, read under the field names that its service uses (assumptions A05 to A07). */
export class WorkspaceEmbedSettings {
  readonly record: EmbedRecord;
  readonly #names: NameOverrides;
  readonly #booleans: readonly string[];
  readonly #lists: readonly string[];
  /** True if the flag is configured as `!NAME`, which means that it is true while every site is allowed to embed. */
  readonly #isInverse: boolean;

  constructor(record: EmbedRecord, names: NameOverrides) {
    this.record = record;
    this.#names = names;
    this.#booleans = Object.keys(record).filter((field) => typeof record[field] === 'boolean');
    this.#lists = Object.keys(record).filter((field) => Array.isArray(record[field]));
    this.#isInverse = names.embed_enabled?.startsWith('!') === true;
  }

  /** True if the embed restriction is on. @throws CodedError `settings_unclear` (exit 6) if its flag is ambiguous */
  get enabled(): boolean {
    return this.record[this.#requireField('embed_enabled')] !== this.#isInverse;
  }

  /** True if the embed restriction is known to be off. */
  get isOff(): boolean {
    return this.#restrictionField !== undefined && !this.enabled;
  }

  /** Builds the PATCH fields that turn the restriction on or off. @throws like `enabled` */
  restrictionFields(enabled: boolean): JsonObject {
    return { [this.#requireField('embed_enabled')]: enabled !== this.#isInverse };
  }

  get hasList(): boolean {
    return this.#listField !== undefined;
  }

  /**
   * Allowed domains, exactly as the service writes them.
   *
   * @throws CodedError `settings_unclear` (exit 6) if the list field is ambiguous, or an entry is not a domain
   */
  get spellings(): string[] {
    return this.#entries.map((entry) => {
      const domain = this.#domainOf(entry);
      if (domain !== undefined) return domain;
      const reason = JSON.stringify(entry);
      throw new CodedError('the allow-list contains an entry that is not a domain', {
        code: 'settings_unclear',
        reason,
        remedy: ['set_field_name', 'embed_domain', 'NAME'],
      });
    });
  }

  /** Allowed domains, normalized for comparison to lower-case ASCII (IDNA). */
  get domains(): string[] {
    return this.spellings.map(normalizeDomain);
  }

  /** Returns an allowed domain exactly as the service writes it, or the domain itself if it is not in the allow-list. */
  spellingOf(domain: string): string {
    return this.spellings.find((spelling) => normalizeDomain(spelling) === domain) ?? domain;
  }

  /** Name of the field for the domain in a request (assumption A07). Prefers the name that the list entries use. */
  get domainField(): string {
    const names = fieldNamesFor('embed_domain', this.#names);
    const fieldInUse = names.find((name) => this.#entries.some((entry) => name in asObject(entry)));
    return fieldInUse ?? (names[0] as string);
  }

  get #entries(): unknown[] {
    return this.record[this.#requireField('embed_domains')] as unknown[];
  }

  /** Name of the restriction flag (assumption A05). Beside another boolean, `enabled` might mean embedding itself. */
  get #restrictionField(): string | undefined {
    const { embed_enabled: declared } = this.#names;
    if (declared !== undefined) return this.#booleans.find((field) => field === declared.replace(/^!/, ''));
    const known = fieldNamesFor('embed_enabled').find((name) => this.#booleans.includes(name));
    return known === 'enabled' && this.#booleans.length > 1 ? undefined : known;
  }

  /** Name of the list of allowed domains (assumption A06). */
  get #listField(): string | undefined {
    return fieldNamesFor('embed_domains', this.#names).find((name) => this.#lists.includes(name));
  }

  #requireField(key: 'embed_enabled' | 'embed_domains'): string {
    const isList = key === 'embed_domains';
    const field = isList ? this.#listField : this.#restrictionField;
    if (field !== undefined) return field;
    const fields = isList ? this.#lists : this.#booleans;
    const kind = isList ? 'array' : 'boolean';
    const listed = fields.join(', ');
    throw new CodedError('cannot tell which field of the embed settings to use', {
      code: 'settings_unclear',
      reason: listed
        ? `${listed} ${fields.length === 1 ? 'has' : 'have'} type ${kind}, but might mean ${isList ? '' : 'the opposite or '}something else`
        : `the record has no ${this.#names[key] ?? kind}; it has ${Object.keys(this.record).join(', ') || 'no fields'}`,
      remedy: ['set_field_name', key, 'NAME', listed && `, with one of ${listed}`],
    });
  }

  /** Returns the domain of a list entry, which is a string or an object (assumption A06). */
  #domainOf(entry: unknown): string | undefined {
    const record = asObject(entry);
    const name = fieldNamesFor('embed_domain', this.#names).find((each) => each in record);
    return typeof entry === 'string' ? entry : asText(record[name ?? '']);
  }
}
