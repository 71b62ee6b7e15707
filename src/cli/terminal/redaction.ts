const mask = '***';

/** In URLs, JSON and headers: what a signed URL, a token or a key looks like whoever sent it. */
const patterns: [RegExp, string][] = [
  [/(authorization:\s*\w+\s+)[^\s"']+/gi, `$1${mask}`],
  [/(bearer\s+)[^\s"']+/gi, `$1${mask}`],
  [/("?(?:playback_)?token"?\s*[:=]\s*"?)[^"&\s,}]+/gi, `$1${mask}`],
  // Name and password in an address.
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi, `$1${mask}@`],
  // Parts of a URL that sign it, whichever store or delivery network made them.
  [
    /([?&](?:signature|sig|token|access_token|auth|jwt|hdnea|hdnts|expires|exp|st|se|sv|policy|key-pair-id|(?:api_?)?key|hmac|verify|x-(?:amz|goog|oss|cos)-[a-z-]+)=)[^&\s"'>]+/gi,
    `$1${mask}`,
  ],
  // Headers that carry a secret, in a trace.
  [
    /^([ \t]*(?:[a-z-]*cookie|[a-z-]*api-?key|x-[a-z-]*(?:token|secret|signature)[a-z-]*):[ \t]*).+$/gim,
    `$1${mask}`,
  ],
];

/** The one redactor: errors, traces and hints pass it, wherever they go. */
export class Redactor {
  readonly #secrets = new Set<string>();

  /** Remembers a key or token of this run, to be masked wherever it turns up. */
  add(secret: string | undefined): void {
    if (secret && secret.length >= 4) this.#secrets.add(secret);
  }

  redact(text: string): string {
    let safe = text;
    for (const secret of this.#secrets)
      for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
        safe = safe.replaceAll(form, mask);
    for (const [pattern, replacement] of patterns) safe = safe.replace(pattern, replacement);
    return safe;
  }

  /** Redacts every string of a record of ours that holds somebody else's words. */
  redactRecord<T>(value: T): T {
    return JSON.parse(
      JSON.stringify(value, (_key, each) => (typeof each === 'string' ? this.redact(each) : each)),
    );
  }
}

/** `abcd…wxyz`: enough to recognise, too little to use. */
export const masked = (secret: string) =>
  secret.length < 16 ? mask : `${secret.slice(0, 4)}…${secret.slice(-4)}`;
