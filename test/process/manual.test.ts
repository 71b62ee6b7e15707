import { manualPages, testPages } from '../support/documentation-suite.ts';

/* Runs the command lines of README.md and of the manual. */

testPages(manualPages);
