/** True in a nightly run: soaks use hundreds of seeds and rounds instead of the few that fit into a build. */
export const isNight = process.env.MEDIACTL_TEST_NIGHT === '1';
