import type { Define } from '../command.ts';
import { logs } from './logs.ts';
import { reset } from './reset.ts';
import { start } from './start.ts';
import { status } from './status.ts';
import { stop } from './stop.ts';
import { watch } from './watch.ts';

export const sandbox: Define = (noun, run) => {
  start(noun.command('start'), run);
  stop(noun.command('stop'), run);
  status(noun.command('status'), run);
  reset(noun.command('reset'), run);
  watch(noun.command('watch'), run);
  logs(noun.command('logs'), run);
};
