import { isUid } from '../../../contract/uid.ts';
import { asText } from '../../../shared/json-values.ts';
import { withTimeout } from '../../../shared/retry.ts';
import { addExamples, type CommandDefinition, type CompletionSource } from '../../command.ts';
import type { Context } from '../../context.ts';
import {
  type CachedName,
  cachedFolders,
  cachedWorkspaces,
  type NameCache,
  nameCache,
} from '../../library/name-cache.ts';
import { parseDuration } from '../../settings/units.ts';
import { describeCommand } from '../command-tree.ts';
import { candidatesFor } from '../completion-candidates.ts';

const cacheTtlMs = 60_000;
const maxAssets = 50;

/**
 * Command that prints the candidates for shell completion, one per line, each followed by a tab and a description;
 * `:files` stands for paths. On an error or timeout (MEDIACTL_COMPLETION_TIMEOUT), prints no names, so that the shell
 * prompt stays intact.
 */
export const complete: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl __complete --word=/Cam -- ls');
  command
    .description('Prints candidates for completion.')
    .argument('[typed...]', 'words before the one to complete')
    .option('--word <text>', 'beginning of the word to complete', '')
    .action(
      run(async (context, typed, { word }) => {
        const { words, source } = candidatesFor(describeCommand(await context.commandTree()), typed, word);
        const candidates = [...words, ...(source ? await namesFor(context, source, word) : [])];
        const lines = candidates
          .filter(([value]) => value.startsWith(word) && isTypeable(value))
          .map(([value, description]) => `${value}\t${description.replace(/\p{Cc}/gu, ' ')}`);
        if (source === 'files') lines.push(':files');
        return lines.length > 0 ? ({ kind: 'raw', text: lines.join('\n') } as const) : { kind: 'nothing' };
      }),
    );
};

/** Returns the names of a source. A word that begins with a slash is a folder, also in place of an asset or a file. */
async function namesFor(context: Context, source: CompletionSource, word: string): Promise<CachedName[]> {
  const isFolder = word.startsWith('/') && (source === 'assets' || source === 'files');
  if (source === 'files' && !isFolder) return [];
  const timeout = context.host.environment.MEDIACTL_COMPLETION_TIMEOUT || '500ms';
  const timeoutMs = parseDuration('MEDIACTL_COMPLETION_TIMEOUT', timeout);
  const lookUp = () => namesOf(context, isFolder ? 'folders' : source);
  return withTimeout(timeoutMs, lookUp).catch(() => []);
}

/** Returns true if the name, given as <id> argument, would be interpreted as an option, `@last` or a uid. */
const isReserved = (name: string) => name.startsWith('-') || name === '@last' || isUid(name);

/** Returns true if a name can be entered in a shell. Control characters cannot be entered and are unsafe. */
const isTypeable = (text: string) => text !== '' && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

async function namesOf(context: Context, values: CompletionSource): Promise<CachedName[]> {
  if (values === 'profiles') {
    const { profiles } = await context.profiles.read();
    return Object.entries(profiles).map(([name, { baseUrl }]) => [name, baseUrl]);
  }
  if (values === 'uploads') {
    const entries = (await (await context.state.uploadsIfAny())?.list()) ?? [];
    return entries.map((entry) => [entry.id, entry.path]);
  }
  return (await remoteNames[values]?.(context).get(cacheTtlMs))?.names ?? [];
}

const remoteNames: Partial<Record<CompletionSource, (context: Context) => NameCache>> = {
  workspaces: cachedWorkspaces,
  folders: cachedFolders,
  assets: (context) =>
    nameCache(context, 'assets', async () => {
      const { items } = await (await context.api()).assets.page({}, maxAssets, 0);
      const count = (name: string) => items.filter((item) => asText(item.name) === name).length;
      return items.map(({ uid, name, type }): CachedName => {
        const text = asText(name) ?? '';
        const isTyped = text !== '' && count(text) === 1 && !isReserved(text);
        return isTyped ? [text, `${asText(type) ?? ''} ${uid}`] : [uid, text];
      });
    }),
};
