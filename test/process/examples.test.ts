import { helpPages, testPages } from '../support/documentation-suite.ts';

/* Runs every example of the help that the manual does not show. */

testPages(helpPages);
