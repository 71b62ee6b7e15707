import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from './files.ts';

/** Signs and verifies media URLs and playback tokens (HMAC) with a secret from a file (mode 0600). */
export class Signer {
  readonly #secret: Buffer;

  constructor(dataDir: string) {
    this.#secret = loadSecret(dataDir);
  }

  /** Returns the path with its expiry time and a signature over both, so that clients can change neither. */
  signPath(path: string, expiresAt: number): string {
    const expires = Math.floor(expiresAt / 1000);
    return `${path}?expires=${expires}&signature=${this.#mac(`url\n${path}\n${expires}`)}`;
  }

  isValidPath(path: string, expires: string, signature: string, now: number): boolean {
    return equalsInConstantTime(signature, this.#mac(`url\n${path}\n${expires}`)) && Number(expires) * 1000 > now;
  }

  /** Creates a playback token: "signed, valid 4 hours, safe to expose to a browser" (§2 Player data). */
  createToken(assetUid: string, expiresAt: number): string {
    const nonce = randomBytes(6).toString('base64url'); // each token has its own rate limit (§8)
    const payload = Buffer.from(JSON.stringify({ assetUid, expiresAt, nonce })).toString('base64url');
    return `${payload}.${this.#mac(`token\n${payload}`)}`;
  }

  /** Returns the asset uid of a playback token; undefined if the token is forged or expired. */
  verifyToken(token: string, now: number): string | undefined {
    const [payload = '', mac = '', ...rest] = token.split('.');
    if (rest.length > 0 || !equalsInConstantTime(mac, this.#mac(`token\n${payload}`))) return undefined;
    const { assetUid, expiresAt } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return expiresAt > now ? assetUid : undefined;
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#secret).update(text).digest('base64url');
  }
}

function equalsInConstantTime(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

const secretBytes = 32;

function loadSecret(dataDir: string): Buffer {
  const path = join(dataDir, 'secret');
  if (!existsSync(path)) writeAtomically(path, randomBytes(secretBytes)); // a truncated secret would be guessable
  const secret = readFileSync(path);
  if (secret.length !== secretBytes) throw new Error(`${path} is corrupt; delete it to create a new one`);
  return secret;
}
