import type { Command } from '@commander-js/extra-typings';
import type { ChangeItem } from '../../../client/changes/change-item.ts';
import { requestsOf, type WantedChange } from '../../../client/changes/items.ts';
import { isEmptyEdit, type TagChange } from '../../../client/changes/tag-change.ts';
import { usageError } from '../../../client/errors.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { slugsOf } from '../../../contract/asset.ts';
import type { Collection } from '../../../contract/paths.ts';
import { itemNouns } from '../../../contract/paths.ts';
import { startAge } from '../../../shared/clock.ts';
import type { JsonObject } from '../../../shared/json-values.ts';
import { displayText, escapeControls } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, collect, type FlagsOf, parseJsonPair, parsePair } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, idsHelp, newestOption } from '../../library/asset-ids.ts';
import { runChange } from '../../library/run-change.ts';
import { phrase } from '../../output/outcome.ts';
import { noResult } from '../../output/result.ts';
import { maxChangesOption } from '../confirm-many.ts';
import { parseTagField } from '../tag-option.ts';
import { changedAssets, confirmBulk, dryRunBulk, parseTargets, resolveTargets, type TargetRequest } from './bulk.ts';

export function update(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} update @last --name "Quay at dusk"`,
    `mediactl ${collection} ls -q --all --tag draft | mediactl ${collection} update - --description "" -n`,
    `mediactl ${collection} update @last --set-json chapters_enabled=true --dry-run`,
  );
  addUpdateOptions(command, collection).action(
    run(async (context, ids, flags) =>
      runUpdate(context, await parseUpdateRequest(context, { collection, ids }, flags)),
    ),
  );
}

function addUpdateOptions(command: Command, collection: Collection) {
  return command
    .description(`Updates the given ${collection}. To select them by filter, pipe their uids from ls.`)
    .argument('[id...]', idsHelp)
    .option('--name <name>', 'new name')
    .option('--description <text>', 'new description')
    .option('--set <key=value>', 'set any other field to a string', collect, [] as string[])
    .option('--set-json <key=json>', 'set any other field to a JSON value', collect, [] as string[])
    .option(...maxChangesOption)
    .option(...newestOption)
    .option(...anyWorkspaceOption);
}

type UpdateFlags = FlagsOf<typeof addUpdateOptions>;

export type UpdateRequest = TargetRequest & { change: WantedChange };

/** @throws CodedError `usage` (exit 2) if options conflict or are invalid, or if there is no change */
export async function parseUpdateRequest(
  context: Context,
  { collection, ids }: Pick<UpdateRequest, 'collection' | 'ids'>,
  flags: UpdateFlags,
): Promise<UpdateRequest> {
  const { maxChanges, newest, anyWorkspace } = flags; // an update takes no filters
  const asked = { verb: 'update', collection, ids } as const;
  const targets = await parseTargets(context, asked, { maxChanges, newest, anyWorkspace });
  return { ...targets, change: await parseChange(context, flags) };
}

async function parseChange(context: Context, flags: UpdateFlags): Promise<WantedChange> {
  const { name, description } = flags;
  const texts = flags.set.map((each) => parsePair('--set', each));
  const typed = flags.setJson.map((each) => parseJsonPair('--set-json', '--set', each));
  const fields: JsonObject = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...Object.fromEntries([...texts, ...typed]),
  };
  if (Object.keys(fields).length === 0)
    throw usageError('no change was given', 'give --name, --description or --set KEY=VALUE; mediactl tag ID --add TAG');
  return { fields: await parseTagField(context, fields) };
}

export async function runUpdate(context: Context, request: UpdateRequest) {
  const { collection, limit, change } = request;
  const ageMs = startAge(context.clock);
  const { targets: found, byFilter } = await resolveTargets(context, request);
  const { [collection]: assets } = await context.api();
  const options = { collection, keepsOldValues: context.isHumanOutput || change.tags !== undefined };
  const { assets: targets, items } = await (await context.writer()).plan(found, change, options);
  const changed = items.filter((item) => !isIdle(item));
  if (context.settings.dryRun) return dryRunBulk(context, collection, targets, requestsOf(assets, changed));
  const notes = change.tags ? describeLostTags(change.tags, targets) : [];
  if (byFilter) await confirmBulk(context, collection, targets, { action: (what) => `update ${what}`, limit, notes });
  else for (const line of notes) context.terminal.info(line);
  if (changed.length === 0 && items.length > 0 && context.canUseSentences) {
    context.terminal.info(`${phrase(items, itemNouns[collection])} already ${describeTags(change.tags, items.length)}`);
    return { result: noResult };
  }
  const [only] = items;
  const effect = items.length === 1 && only?.tags && !isIdle(only) ? { ...change, tags: only.tags } : change;
  const planned = { command: request.verb, summary: describeChange(effect), items, collection, ageMs };
  const results = await runChange(context, planned);
  const words = { outcome: 'updated', label: 'updated', place: `(${displayText(planned.summary)})` } as const;
  return changedAssets(context, { collection, byFilter }, results, words);
}

/** Returns true for an item that has the tags that it is to have, and nothing else to set. */
const isIdle = ({ after, tags }: ChangeItem) =>
  after !== null && Object.keys(after).length === 0 && tags !== undefined && isEmptyEdit(tags);

function describeTags(tags: TagChange | undefined, count: number): string {
  const list = (slugs: readonly string[]) => `the ${slugs.length === 1 ? 'tag' : 'tags'} ${slugs.join(', ')}`;
  const has = count === 1 ? 'has' : 'have';
  if (!tags || 'set' in tags) return `${has} ${tags?.set.length ? list(tags.set) : 'no tags'}`;
  const lacks = count === 1 ? 'lacks' : 'lack';
  return [
    ...(tags.add.length > 0 ? [`${has} ${list(tags.add)}`] : []),
    ...(tags.remove.length > 0 ? [`${lacks} ${list(tags.remove)}`] : []),
  ].join(' and ');
}

/** Describes a change for the history, such as `set name, add tag sea`. */
function describeChange({ fields = {}, tags }: WantedChange): string {
  const edits = !tags
    ? []
    : 'set' in tags
      ? [tags.set.length > 0 ? `set tags ${tags.set.join(' ')}` : 'remove all tags']
      : [...tags.add.map((slug) => `add tag ${slug}`), ...tags.remove.map((slug) => `remove tag ${slug}`)];
  const names = Object.keys(fields);
  return [...(names.length > 0 ? [`set ${names.join(', ')}`] : []), ...edits].join(', ');
}

/** Returns a line for each asset that would lose tags, with the tags before and after the change. */
function describeLostTags(change: TagChange, targets: readonly SelectedAsset[]): string[] {
  if (!('set' in change)) return [];
  return targets.flatMap(({ uid, record }) => {
    const before = (record && slugsOf(record)) ?? [];
    const isLost = before.some((slug) => !change.set.includes(slug));
    const after = change.set.join(', ') || 'none';
    return isLost ? [`  ${uid}  tags: ${escapeControls(before.join(', '))} → ${after}`] : [];
  });
}
