import { describeFleet } from '../support/fleet-suite.ts';
import { postgres } from '../support/stores.ts';

describeFleet(postgres);
