import { domainToASCII } from 'node:url';
import { fieldNamesFor, type NameOverrides } from '../../contract/assumptions.ts';
import { asArray, asObject, asText, type JsonObject } from '../../contract/json-values.ts';
import type { EmbedRecord } from '../../contract/types.ts';
import { MediactlError, usageError } from '../errors.ts';
import { nameHint } from './write-check.ts';

/**
 * Matches the words that may occur in the name of the response field that tells if embedding is restricted. A name
 * with any other word is not recognized, because that word could invert its meaning.
 */
const restrictionWords =
  /^(?:is|are|has|the|to|by|of|on|for|use[sd]?|enabled?|active|embed(?:s|ding|ded)?|domains?|hosts?|sites?|origins?|referr?ers?|restrict(?:s|ed|ions?)?|limit(?:s|ed)?|protect(?:s|ed|ion)?|check(?:s|ed)?|lock(?:s|ed)?|enforced?|only|(?:allow|white)list)$/;

/** Returns true if a flag's name clearly means that true restricts embedding, such as `restricted` or `domains_only`. */
function isRestrictionName(field: string): boolean {
  const name = field.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
  const words = name.replace(/(allow|white)[_-]list/g, '$1list').split(/[_-]+/);
  const ofDomains = name.includes('domain') && /enable|limit|protect|check|lock|enforce|only/.test(name);
  return words.every((word) => restrictionWords.test(word)) && (ofDomains || /restrict|list/.test(name));
}

/** Returns the name of the restriction flag (assumption A05) among boolean fields, or undefined if it is ambiguous. */
export function findRestrictionField(fields: readonly string[]): string | undefined {
  const plain = fields.filter(isRestrictionName);
  // Next to a more specific field, `enabled` might refer to embedding itself.
  const candidates = plain.length > 0 ? plain : fields;
  const known = fieldNamesFor('embed_enabled').find((name) => candidates.includes(name));
  return known ?? (fields.length === 1 ? plain[0] : undefined);
}

/** Matches any list name except those that suggest something other than domains that are allowed to embed. */
export const allowListName =
  /^(?!.*(?:block|den(?:y|ied)|forbid|ban|black|exclu|except|reject|admin|owner|user|member|mail|server|path))/i;

const domainLike = /^(?:[^\s@/]+\.[^\s@/]+|localhost(?::\d+)?)$/i;

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

  /** True if the embed restriction is on. @throws MediactlError `usage` (exit 2) if its flag is ambiguous */
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
   * @throws MediactlError `settings_unclear` (exit 6) if the list field is ambiguous; `domain_unclear` (exit 2) if an
   *   entry is not a domain
   */
  get spellings(): string[] {
    return this.#entries.map((entry) => {
      const domain = this.#domainOf(entry);
      if (domain !== undefined) return domain;
      const reason = JSON.stringify(entry);
      throw new MediactlError('the allow-list contains an entry that is not a domain', {
        code: 'domain_unclear',
        reason,
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

  /** Name of the restriction flag (assumption A05): the configured name, or else a boolean with an unambiguous name. */
  get #restrictionField(): string | undefined {
    const { embed_enabled: declared } = this.#names;
    if (declared === undefined) return findRestrictionField(this.#booleans);
    return this.#booleans.find((field) => field === declared.replace(/^!/, ''));
  }

  /** Name of the list of domains (assumption A06): a configured or known name, or the only array if it lists domains. */
  get #listField(): string | undefined {
    const known = fieldNamesFor('embed_domains', this.#names).find((name) => this.#lists.includes(name));
    const [only = ''] = this.#lists;
    if (known !== undefined || this.#lists.length !== 1 || this.#names.embed_domains) return known;
    const isDomain = (entry: unknown) => domainLike.test(this.#domainOf(entry) ?? '');
    return allowListName.test(only) && asArray(this.record[only]).every(isDomain) ? only : undefined;
  }

  #requireField(key: 'embed_enabled' | 'embed_domains'): string {
    const isList = key === 'embed_domains';
    const field = isList ? this.#listField : this.#restrictionField;
    if (field !== undefined) return field;
    const fields = isList ? this.#lists : this.#booleans;
    const kind = isList ? 'array' : 'boolean';
    const listed = fields.join(', ');
    const error = usageError(
      'cannot tell which field of the embed settings to use',
      nameHint(key, 'NAME', listed && `, with one of ${listed}`),
      listed
        ? `${listed} ${fields.length === 1 ? 'has' : 'have'} type ${kind}, but might mean ${isList ? '' : 'the opposite or '}something else`
        : `the record has no ${this.#names[key] ?? kind}; it has ${Object.keys(this.record).join(', ') || 'no fields'}`,
    );
    throw isList ? error.with({ code: 'settings_unclear' }) : error;
  }

  /** Returns the domain of a list entry, which is a string or an object (assumption A06). */
  #domainOf(entry: unknown): string | undefined {
    const record = asObject(entry);
    const name = fieldNamesFor('embed_domain', this.#names).find((each) => each in record);
    return typeof entry === 'string' ? entry : asText(record[name ?? '']);
  }
}
