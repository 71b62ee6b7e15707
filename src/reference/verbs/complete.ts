import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Names } from '../../commands/command.ts';
import { type Define, example } from '../../commands/command.ts';
import type { Context } from '../../context.ts';
import { makeStateFolder } from '../../folders.ts';
import { readTree } from '../../library/folders.ts';
import { parseDuration } from '../../settings/units.ts';
import { isCorrupt } from '../../upload/journal-entry.ts';
import { textIn } from '../../wire/reading.ts';
import { isUid } from '../../wire/uid.ts';

/** A candidate, and what tells a person which one it is. */
type Name = [value: string, description: string];

const keptMs = 60_000;
const patience = '500ms';
const mostAssets = 50;

/**
 * What shells ask while somebody types: a name a line, a tab and a description. It must never be in
 * the way: no answer within half a second (MEDIACTL_COMPLETION_TIMEOUT), or any error, is no names and
 * no word.
 */
export const complete: Define = (command, run) => {
  example(command, 'mediactl __complete folders');
  command
    .description('Prints names for completion.')
    .argument('<values>')
    .action(
      run(async (context, values) => {
        const timeout = context.host.environment.MEDIACTL_COMPLETION_TIMEOUT || patience;
        const patienceMs = parseDuration('MEDIACTL_COMPLETION_TIMEOUT', timeout);
        const within = new Promise<Name[]>((resolve) =>
          setTimeout(resolve, patienceMs, []).unref(),
        );
        const asked = namesOf(context, values as Names).catch((): Name[] => []);
        const names = await Promise.race([asked, within]);
        const lines = names
          .filter(([value]) => isTypeable(value))
          .map(([value, description]) => `${value}\t${description.replace(/\p{Cc}/gu, ' ')}`);
        return lines.length > 0
          ? ({ kind: 'raw', text: lines.join('\n') } as const)
          : { kind: 'nothing' };
      }),
    );
};

/** What means something else than a name where an id is typed. */
const isReserved = (name: string) => name.startsWith('-') || name === '@last' || isUid(name);

/** Nobody can type a control character, and no shell should be handed one. */
const isTypeable = (text: string) => text !== '' && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

async function namesOf(context: Context, values: Names): Promise<Name[]> {
  if (values === 'profiles') {
    const { profiles } = await context.profiles.read();
    return Object.entries(profiles).map(([name, { baseUrl }]) => [name, baseUrl]);
  }
  if (values === 'uploads') {
    const entries = await (await context.journal()).list();
    return entries.map((entry) => [entry.id, isCorrupt(entry) ? 'unreadable' : entry.path]);
  }
  const ask = remote[values];
  return ask ? kept(context, values, ask) : [];
}

/** Names that cost a request. */
const remote: Partial<Record<Names, (context: Context) => Promise<Name[]>>> = {
  workspaces: async (context) => {
    const names: Name[] = [];
    for await (const page of (await context.api()).workspaces.list())
      names.push(...page.map(({ uid, name }): Name => [textIn(name) || uid, uid]));
    return names;
  },
  folders: async (context) => {
    const { tree } = await readTree(context);
    return tree.all.map(({ path, folder }) => [path, folder.uid]);
  },
  assets: async (context) => {
    const { items } = await (await context.api()).assets.page({}, mostAssets, 0);
    const count = (name: string) => items.filter((item) => textIn(item.name) === name).length;
    return items.map(({ uid, name, type }): Name => {
      const text = textIn(name) ?? '';
      const isTyped = text !== '' && count(text) === 1 && !isReserved(text);
      return isTyped ? [text, `${textIn(type) ?? ''} ${uid}`] : [uid, text];
    });
  },
};

/** A minute old is new enough for somebody who types; a request a keystroke would eat the budget. */
async function kept(
  context: Context,
  values: Names,
  ask: (context: Context) => Promise<Name[]>,
): Promise<Name[]> {
  const { profile, baseUrl, workspace } = await context.account();
  const place = createHash('sha256')
    .update(JSON.stringify([values, profile, baseUrl.href, workspace]))
    .digest('hex');
  const folder = join(context.stateDir, 'names');
  const path = join(folder, place.slice(0, 16));
  const known = await readFile(path, 'utf8')
    .then((text) => JSON.parse(text))
    .catch(() => undefined); // none, or none that can be read: it is made anew
  if (known && context.clock.now() - known.at < keptMs && known.at <= context.clock.now())
    return known.names;
  const names = await ask(context);
  await makeStateFolder(folder);
  // Whole or not at all: several shells may ask at once.
  const mine = `${path}.${context.host.processes.pid}`;
  await writeFile(mine, JSON.stringify({ at: context.clock.now(), names }), { mode: 0o600 });
  await rename(mine, path);
  return names;
}
