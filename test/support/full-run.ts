/** True in `npm run test:full`, where soak tests use hundreds of seeds and rounds instead of a few. */
export const isFullRun = process.env.MEDIACTL_TEST_FULL === '1';
