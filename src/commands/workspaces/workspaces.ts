import type { Define } from '../command.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { use } from './use.ts';

export const workspaces: Define = (noun, run) => {
  list(noun.command('ls'), run);
  get(noun.command('get'), run);
  use(noun.command('use'), run);
};
