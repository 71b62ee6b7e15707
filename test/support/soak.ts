/** A night's run: as many seeds and rounds as were ever promised, not the few that fit into a build. */
export const isNight = process.env.MEDIACTL_TEST_NIGHT === '1';
