export const mask = '***';

/** Patterns for secrets in URLs, JSON and headers, and the replacement for each pattern. */
const patterns: [RegExp, string][] = [
  [/(authorization:\s*\w+\s+)[^\s"']+/gi, `$1${mask}`],
  [/(bearer\s+)[^\s"']+/gi, `$1${mask}`],
  [/("?(?:playback_)?token"?\s*[:=]\s*"?)[^"&\s,}]+/gi, `$1${mask}`],
  // User name and password in a URL
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi, `$1${mask}@`],
  // Signature parameters in URLs from common object stores and CDNs
  [
    /([?&](?:signature|sig|token|access_token|auth|jwt|hdnea|hdnts|expires|exp|st|se|sv|policy|key-pair-id|(?:api_?)?key|hmac|verify|x-(?:amz|goog|oss|cos)-[a-z-]+)=)[^&\s"'>]+/gi,
    `$1${mask}`,
  ],
  // Secret headers in a request trace
  [/^([ \t]*(?:[a-z-]*cookie|[a-z-]*api-?key|x-[a-z-]*(?:token|secret|signature)[a-z-]*):[ \t]*).+$/gim, `$1${mask}`],
];

/** Matches every text that any of the patterns can match. */
const mayHaveSecret = /[:=@]|bearer/i;

/** Masks secrets in errors, traces and hints before they are shown or stored. */
export class SecretRedactor {
  readonly #secrets = new Set<string>();

  /** Registers a key or token that must be masked everywhere. Ignores secrets of less than four characters. */
  add(secret: string | undefined): void {
    if (secret && secret.length >= 4) this.#secrets.add(secret);
  }

  redact(text: string): string {
    let safe = text;
    for (const secret of this.#secrets)
      for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
        safe = safe.replaceAll(form, mask);
    if (!mayHaveSecret.test(safe)) return safe; // to compile the patterns takes as long as to print a short list
    for (const [pattern, replacement] of patterns) safe = safe.replace(pattern, replacement);
    return safe;
  }

  /** Redacts every string in a record, which might contain text from outside, such as error messages. */
  redactRecord<T>(value: T): T {
    return JSON.parse(JSON.stringify(value, (_key, each) => (typeof each === 'string' ? this.redact(each) : each)));
  }
}
