import { describeFleet } from '../support/fleet-suite.ts';
import { redis } from '../support/stores.ts';

describeFleet(redis);
