import type { Define } from '../command.ts';
import { get, list, path } from './read.ts';
import { set, unset } from './write.ts';

export const config: Define = (noun, run) => {
  list(noun.command('ls'), run);
  get(noun.command('get'), run);
  set(noun.command('set'), run);
  unset(noun.command('unset'), run);
  path(noun.command('path'), run);
};
