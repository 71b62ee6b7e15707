import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, it } from 'vitest';
import { Random, seedsOf } from '../support/random.ts';
import { RandomLibrary } from '../support/random-library.ts';

/*
 * Random states of a directory and its folder. Whatever `check` says, `sync -n` says and `sync` does; after it `check` says
 * that all is there, which the service's bytes confirm, or names what cannot be known; and a second sync writes nothing.
 */

/** What a sync does with a file. */
type FileAction = 'send' | 'keep' | 'follow';

const actionOfCheck: Record<string, FileAction> = {
  match: 'keep',
  missing_remotely: 'send',
  changed: 'send',
  different: 'send',
  same_name: 'send',
  unverified: 'keep',
  failed: 'keep',
  moved: 'keep',
  renamed: 'follow',
};
const actionOfRun: Record<string, FileAction> = {
  uploaded: 'send',
  new: 'send',
  changed: 'send',
  resumed: 'send',
  skipped: 'keep',
  same_name_and_size: 'keep',
  moved: 'follow',
};

it.each(seedsOf({ quick: 8, ci: 30 }))(
  'check, sync -n, sync, check and sync agree in the random state %i',
  async (seed) => {
    const library = await RandomLibrary.create(seed);
    const { directory, files } = library;
    const download = new Random(seed + 1000).chance(0.4) ? ['--download'] : [];
    const check = () => library.outcomes(['check', directory, '/F', '--matches', ...download]);
    const sync = (...options: string[]) => library.outcomes(['sync', directory, '/F', '--create-folders', ...options]);
    const before = library.others;
    const checked = await check();
    const planned = await sync('-n');
    const wasThere = new Map(files.map((file) => [file, library.isInFolder(file, { anyName: true })]));
    const wasNamed = new Map(files.map((file) => [file, library.isInFolder(file)]));
    const run = await sync();
    const again = await check();
    const { writes } = library;
    await sync();
    expect(library.writes - writes, library.log.join('\n')).toBe(0);

    const contentOf = (file: string) => readFileSync(file, 'utf8');
    // Which of several files of equal content follows a renamed asset is decided as they are opened.
    const actionsOf = (content: string, outcomes: Record<string, string>, actions: Record<string, FileAction>) =>
      files
        .filter((file) => contentOf(file) === content)
        .map((file) => actions[outcomes[file] ?? ''] ?? outcomes[file])
        .sort()
        .join();
    const disagreements = files.flatMap((file) => {
      const content = contentOf(file);
      const said = [
        actionsOf(content, checked, actionOfCheck),
        actionsOf(content, planned, actionOfRun),
        actionsOf(content, run, actionOfRun),
      ];
      const problems = [
        ...(new Set(said).size > 1 ? ['check, -n and the run differ'] : []),
        ...(actionOfCheck[again[file] ?? ''] === 'keep' ? [] : ['it is not there after the sync']),
        ...(checked[file] === 'match' && download.length > 0 && !wasThere.get(file) ? ['its match is not there'] : []),
        ...(checked[file] === 'missing_remotely' && wasNamed.get(file) ? ['it was there'] : []),
        ...(again[file] === 'match' && download.length > 0 && !library.isInFolder(file, { anyName: true })
          ? ['its match is not there after the sync']
          : []),
      ];
      const outcomes = [checked, planned, run, again].map((each) => each[file]).join(' ');
      return problems.length > 0 ? [`${relative(directory, file)}: ${problems.join(', ')} (${outcomes})`] : [];
    });
    expect(disagreements, library.log.join('\n')).toEqual([]);

    const there = files.filter((file) => library.isInFolder(file));
    await sync('--prune', '--yes', '--max-changes', '20');
    expect(
      there.filter((file) => !library.isInFolder(file)),
      library.log.join('\n'),
    ).toEqual([]);
    const toSend = Object.entries(await check()).filter(([, outcome]) => actionOfCheck[outcome] === 'send');
    expect(toSend, library.log.join('\n')).toEqual([]);
    expect(library.others, library.log.join('\n')).toEqual(before);
  },
);
