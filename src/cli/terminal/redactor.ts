import type { CodedError } from '../../client/errors.ts';
import { mask, SecretRedactor } from '../../client/redactor.ts';
import { type ErrorRecord, errorRecord, hintOf } from '../error-hints.ts';
import { nameProfile, nextStepFor } from '../profile-in-commands.ts';
import type { SuggestionProfile } from '../settings/settings.ts';

/**
 * Prepares all errors, traces and hints before they are printed or stored: masks secrets, and names the profile in the
 * commands that they suggest.
 */
export class Redactor extends SecretRedactor {
  profile: SuggestionProfile | undefined;

  /** Returns the next step of an error, whose commands act on the account of this one. */
  hintOf(error: CodedError): string | undefined {
    const hint = hintOf(error);
    return hint && nextStepFor(hint, this.profile);
  }

  nameProfile(text: string): string {
    return nameProfile(text, this.profile);
  }

  errorRecord(error: CodedError): ErrorRecord;
  errorRecord(error: CodedError | undefined): ErrorRecord | null;
  errorRecord(error: CodedError | undefined): ErrorRecord | null {
    return this.redactRecord(error ? errorRecord(error, this.profile) : null);
  }
}

/** Shortens a secret to `abcd…wxyz`, which is enough to recognize it but not to use it. */
export const maskSecret = (secret: string) => (secret.length < 16 ? mask : `${secret.slice(0, 4)}…${secret.slice(-4)}`);
