import type { Command } from '@commander-js/extra-typings';
import type { Collection } from '../../../contract/paths.ts';
import { type ActionWrapper, type CommandDefinition, type Verb, verb } from '../command.ts';

type AssetVerb = (command: Command, run: ActionWrapper, collection: Collection) => void;

/** Lists the verbs that `assets` and `videos` share (§4). */
function verbsOf(collection: Collection): Verb[] {
  const assetVerb = (name: string, summary: string, load: () => Promise<AssetVerb>, alias?: string) => {
    const loadDefinition = async () => {
      const define = await load();
      return (command: Command, run: ActionWrapper) => define(command, run, collection);
    };
    return verb(name, summary, loadDefinition, alias);
  };
  return [
    assetVerb('ls', `list ${collection}`, async () => (await import('./list.ts')).list, 'list'),
    assetVerb('get', 'show one or more', async () => (await import('./get.ts')).get, 'show'),
    assetVerb('update', 'change name, description, tags', async () => (await import('./update.ts')).update),
    assetVerb('rm', `move ${collection} to the trash`, async () => (await import('./remove.ts')).remove, 'delete'),
    assetVerb('player', 'show what a player page needs', async () => (await import('./get.ts')).player),
    assetVerb('thumb', 'save the thumbnail of an asset, or show it', async () => (await import('./thumb.ts')).thumb),
    assetVerb(
      'download',
      'download the file of an asset, or of many',
      async () => (await import('./download.ts')).download,
    ),
    assetVerb('wait', 'wait until ready', async () => (await import('./wait.ts')).wait),
  ];
}

export const assets: CommandDefinition = verbsOf('assets');
export const videos: CommandDefinition = verbsOf('videos');
