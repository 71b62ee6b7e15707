import type { Define } from '../command.ts';
import { create } from './create.ts';
import { list } from './list.ts';
import { move } from './move.ts';
import { remove } from './remove.ts';
import { rename } from './rename.ts';
import { tree } from './tree.ts';

export const folders: Define = (noun, run) => {
  tree(noun.command('tree'), run);
  list(noun.command('ls'), run);
  create(noun.command('create'), run);
  rename(noun.command('rename'), run);
  move(noun.command('mv'), run);
  remove(noun.command('rm'), run);
};
