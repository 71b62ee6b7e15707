import type { CodedError } from '../../client/errors.ts';
import { mask, SecretRedactor } from '../../client/redactor.ts';
import { type ErrorRecord, errorRecord } from '../error-hints.ts';

/** Masks secrets in all errors, traces and hints before they are printed or stored. */
export class Redactor extends SecretRedactor {
  /** Returns an error as part of a result, without secrets that the service may have echoed. */
  errorRecord(error: CodedError | undefined): ErrorRecord | null {
    return this.redactRecord(error ? errorRecord(error) : null);
  }
}

/** Shortens a secret to `abcd…wxyz`, which is enough to recognize it but not to use it. */
export const maskSecret = (secret: string) => (secret.length < 16 ? mask : `${secret.slice(0, 4)}…${secret.slice(-4)}`);
