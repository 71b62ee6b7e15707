import type { Collection } from '../../wire/paths.ts';
import type { Define } from '../command.ts';
import { download } from './download.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { player } from './player.ts';
import { remove } from './remove.ts';
import { thumb } from './thumb.ts';
import { update } from './update.ts';
import { wait } from './wait.ts';

/** Assets and videos share their verbs truly (§4), so both nouns come from this one definition. */
const collection =
  (name: Collection): Define =>
  (noun, run) => {
    list(noun.command('ls'), run, name);
    get(noun.command('get'), run, name);
    update(noun.command('update'), run, name);
    remove(noun.command('rm'), run, name);
    player(noun.command('player'), run, name);
    thumb(noun.command('thumb'), run, name);
    download(noun.command('download'), run, name);
    wait(noun.command('wait'), run, name);
  };

export const assets = collection('assets');
export const videos = collection('videos');
