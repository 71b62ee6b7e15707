import { has } from './has.ts';

/** Path of poppler's pdftoppm(1); undefined if it is not installed. */
export const pdftoppm = has('pdftoppm') ? '/usr/bin/pdftoppm' : undefined;
