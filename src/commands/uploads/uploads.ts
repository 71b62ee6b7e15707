import type { Define } from '../command.ts';
import { forget } from './forget.ts';
import { list } from './list.ts';
import { resume } from './resume.ts';

export const uploads: Define = (noun, run) => {
  list(noun.command('ls'), run);
  resume(noun.command('resume'), run);
  forget(noun.command('forget'), run);
};
