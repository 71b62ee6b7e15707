import { inject } from 'vitest';
import type { Requirement } from './requirements.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Requirements of tests that this machine does not meet. */
    missing: Requirement[];
  }
}

/** Returns true if this machine meets a requirement of tests. */
export const has = (name: Requirement): boolean => !inject('missing').includes(name);
