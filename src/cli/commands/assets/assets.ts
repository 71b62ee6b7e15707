import type { Command } from '@commander-js/extra-typings';
import type { Collection } from '../../../contract/paths.ts';
import { type ActionWrapper, type CommandDefinition, type Verb, verb } from '../../command.ts';

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
  const shared = [
    assetVerb('ls', `list ${collection}`, async () => (await import('./list.ts')).list, 'list'),
    assetVerb('get', 'show one or more assets', async () => (await import('./get.ts')).get, 'show'),
    assetVerb('update', 'change the name, description or tags', async () => (await import('./update.ts')).update),
    assetVerb(
      'rm',
      collection === 'assets' ? 'move assets to the trash or delete folders' : 'move videos to the trash',
      async () => (await import('./remove.ts')).remove,
      'delete',
    ),
    assetVerb('player-data', 'show the data for a player page', async () => (await import('./get.ts')).player),
    assetVerb('thumb', 'save a thumbnail', async () => (await import('./thumb.ts')).thumb),
    assetVerb('download', 'download files', async () => (await import('./download.ts')).download),
    assetVerb('wait', 'wait until assets are ready', async () => (await import('./wait.ts')).wait),
  ];
  if (collection === 'videos') return shared;
  return [
    ...shared,
    verb('mv', 'move assets or a folder', async () => (await import('./move.ts')).move),
    verb('rename', 'rename an asset or a folder', async () => (await import('./rename.ts')).rename),
    verb('tag', 'add, remove or replace tags', async () => (await import('./tag.ts')).tag),
    verb('export', 'write a table to edit in a spreadsheet', async () => (await import('./export.ts')).exportAssets),
    verb('apply', 'apply an edited table to the library', async () => (await import('./apply.ts')).apply),
    verb('stats', 'count assets, hours and bytes; find duplicates', async () => (await import('./stats.ts')).stats),
  ];
}

export const assets: CommandDefinition = verbsOf('assets');
export const videos: CommandDefinition = verbsOf('videos');
