import type { Collection } from '../../wire/paths.ts';
import type { Define } from '../command.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { player } from './player.ts';
import { wait } from './wait.ts';

/** Assets and videos share their verbs truly (§4), so both nouns come from this one definition. */
const collection =
  (name: Collection): Define =>
  (noun, run) => {
    list(noun.command('ls'), run, name);
    get(noun.command('get'), run, name);
    player(noun.command('player'), run, name);
    wait(noun.command('wait'), run, name);
  };

export const assets = collection('assets');
export const videos = collection('videos');
