import { domainToASCII } from 'node:url';
import { exitCodes, usageError } from '../errors.ts';
import { type NameKey, type NameOverrides, namesFor } from '../wire/assumptions.ts';
import { fieldsIn, textIn } from '../wire/reading.ts';
import type { EmbedRecord } from '../wire/types.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/**
 * Names that can only be the restriction: they speak of it, or of embedding as enabled or limited.
 * One that speaks of who may (`embed_everywhere`, `public`) would be the reverse.
 */
const restricts =
  /restrict|limit|protect|allow_?list|white_?list|domains?_(?:only|check)|(?:^|_)enabled$/i;

/** What is no host name (an address, a port) is compared as it is. */
const comparable = (domain: string) => (domainToASCII(domain) || domain).toLowerCase();

/** The embed settings of a workspace, read under whatever names this service uses (A05 to A07). */
export class EmbedSettings {
  /** As the service sent it. */
  readonly record: EmbedRecord;
  readonly #names: NameOverrides;

  constructor(record: EmbedRecord, names: NameOverrides) {
    this.record = record;
    this.#names = names;
  }

  /** @throws MediactlError exit 2 where the record leaves open which field is meant */
  get enabled(): boolean {
    return this.record[this.enabledField] === true;
  }

  /** As the service spells them. @throws MediactlError exit 2 where the field meant is open */
  get spellings(): string[] {
    return this.#entries.map((entry) => this.#domainOf(entry));
  }

  /** To compare by: lower case, in ASCII (IDNA). */
  get domains(): string[] {
    return this.spellings.map(comparable);
  }

  /** How the service spells a domain of its list; the domain itself where it is not on it. */
  spellingOf(domain: string): string {
    return this.spellings.find((spelling) => comparable(spelling) === domain) ?? domain;
  }

  /** A05: an override, a name that is known, or the only boolean of the record if its name says so. */
  get enabledField(): string {
    const isBoolean = (value: unknown) => typeof value === 'boolean';
    return this.#field('embed_enabled', 'boolean', isBoolean, (field) => restricts.test(field));
  }

  /** A07: the name that the list's own entries use, else the first guess. */
  get domainField(): string {
    const names = namesFor('embed_domain', this.#names);
    const seen = names.find((name) => this.#entries.some((entry) => name in fieldsIn(entry)));
    return seen ?? (names[0] as string);
  }

  /** A06: an override, the only array of the record, or a name that is known. */
  get #entries(): unknown[] {
    return this.record[this.#field('embed_domains', 'array', Array.isArray)] as unknown[];
  }

  #field(
    key: NameKey,
    kind: string,
    fits: (value: unknown) => boolean,
    speaksOfIt: (field: string) => boolean = () => true,
  ): string {
    const fields = Object.keys(this.record).filter((field) => fits(this.record[field]));
    const [known] = namesFor(key, this.#names).filter((name) => fields.includes(name));
    if (known !== undefined) return known;
    const [only = '', ...more] = fields;
    if (only && more.length === 0 && !this.#names[key] && speaksOfIt(only)) return only;
    throw usageError(
      'it is not clear which field of the embed settings is meant',
      `mediactl config set names.${key} NAME${fields.length > 0 ? `, with one of ${fields.join(', ')}` : ''}`,
      fields.length > 0
        ? `${fields.join(', ')} ${fields.length === 1 ? 'is' : 'are'} of type ${kind}, and may be something else`
        : `the record has no ${this.#names[key] ?? kind}; it has ${Object.keys(this.record).join(', ') || 'no fields'}`,
    );
  }

  /** A06: strings or objects. */
  #domainOf(entry: unknown): string {
    if (typeof entry === 'string') return entry;
    const record = fieldsIn(entry);
    const name = namesFor('embed_domain', this.#names).find((each) => each in record);
    const domain = name === undefined ? undefined : textIn(record[name]);
    if (domain !== undefined) return domain;
    throw unexpectedAnswer('the allow-list has something that is not a domain', {
      exitCode: exitCodes.usage,
      reason: JSON.stringify(entry),
      hint: 'mediactl config set names.embed_domain NAME',
    });
  }
}
