import type { Define } from '../command.ts';
import { add, list, remove, sync } from './domains.ts';
import { restrict } from './restrict.ts';
import { show } from './show.ts';

export const embed: Define = (noun, run) => {
  show(noun.command('show'), run);
  restrict(noun.command('enable'), run, true);
  restrict(noun.command('disable'), run, false);
  const domains = noun
    .command('domains')
    .summary('the domains that may embed')
    .description('The allow-list of domains that may embed, kept per workspace.')
    .helpCommand(false);
  list(domains.command('ls'), run);
  add(domains.command('add'), run);
  remove(domains.command('rm'), run);
  sync(domains.command('sync'), run);
};
