import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { parseExact } from '../../../client/http/json.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { idHelp, newestOption } from '../../library/asset-ids.ts';
import { readInputText } from '../../terminal/input.ts';
import { type ActionWrapper, addExamples, collect, parseJsonPair, parsePair } from '../command.ts';
import { parseWriteLimit } from '../confirm-many.ts';
import { dryRunPlan } from '../dry-run.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { bulkResult, runConcurrently } from './bulk.ts';
import { assetRecord } from './columns.ts';
import { describeLostTags, parseTagChange, type TagChange, tagFields, withRecords } from './tags.ts';
import { type BulkTarget, confirmBulk, resolveTargets } from './targets.ts';

export function update(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} update @last --name "Quay at dusk" --add-tag sea --add-tag night`,
    `mediactl ${collection} update --tag draft --created-before 30d --add-tag archive --remove-tag draft -n`,
    `mediactl ${collection} update @last --set-json chapters_enabled=true --dry-run`,
  );
  const described = command
    .summary('change name, description, tags')
    .description(`Changes ${collection}: those given, or all that the filters match.`)
    .argument('[id...]', `${idHelp}; - for stdin`)
    .option('--name <name>', 'new name')
    .option('--description <text>', 'new description')
    .addOption(tagOption('--add-tag <slug>', 'tag to add; may be repeated'))
    .addOption(tagOption('--remove-tag <slug>', 'tag to take off; may be repeated'))
    .option('--set-tags <slugs>', 'tags to have in place of those there are: sea,night')
    .option('--no-tags', 'have no tags')
    .option('--set <key=value>', 'any other field, a string', collect, [] as string[])
    .option('--set-json <key=json>', 'any other field, as JSON', collect, [] as string[])
    .option('--body <file>', 'the whole body, a JSON object; - for stdin');
  withFilters(described, collection)
    .option('--max-update <number>', 'how many at most (100)')
    .option(...newestOption)
    .action(
      run(async (context, ids, options) => {
        const limit = parseWriteLimit('--max-update', options.maxUpdate);
        if (options.body === '-' && ids.includes('-')) throw usageError('ids and body cannot both come from stdin');
        if (options.tag !== undefined && ids.length > 0)
          throw usageError(
            '--tag is a filter, and ids are given too',
            '--add-tag SLUG adds a tag, --set-tags SLUGS puts others in place of those there are',
          );
        const change = await parseChange(context, options);
        const filters = await parseFilters(context, options);
        const found = await resolveTargets(context, collection, ids, filters, limit, {
          ...options,
          verb: 'update',
        });
        const { [collection]: assets } = await context.api();
        const targets = change.tags ? await withRecords(assets, found.targets) : found.targets;
        const bodyFor = (target: BulkTarget): JsonObject => ({
          ...change.fields,
          ...(change.tags && tagFields(assets, change.tags, target)),
        });
        if (context.settings.dryRun)
          return dryRunPlan(
            context,
            targets.map((target) => assets.updateRequest(target.uid, bodyFor(target))),
          );
        const lost = change.tags ? describeLostTags(change.tags, targets) : [];
        if (found.byFilter)
          await confirmBulk(context, collection, targets, {
            action: (what) => `update ${what}`,
            limit,
            notes: lost,
          });
        else for (const line of lost) context.terminal.info(line);
        const [only] = targets;
        if (only && targets.length === 1 && !found.byFilter) {
          const { asset, unverifiable } = await assets.update(only.uid, bodyFor(only));
          warnUnverifiable(context, unverifiable);
          return assetRecord(context, asset);
        }
        const unseen = new Set<string>();
        const outcomes = await runConcurrently(context, targets, async (target) => {
          const updated = await assets.update(target.uid, bodyFor(target));
          for (const field of updated.unverifiable) unseen.add(field);
          return updated.asset;
        });
        warnUnverifiable(context, [...unseen]);
        return bulkResult(context, outcomes, 'updated', collection);
      }),
    );
}

const tagOption = <Flags extends string>(flags: Flags, description: string) =>
  new Option(flags, description).argParser(collect).default([] as string[], '');

const warnUnverifiable = ({ terminal }: Context, unverifiable: readonly string[]) => {
  if (unverifiable.length > 0)
    terminal.warn(
      `the service shows no ${unverifiable.map(escapeControls).join(', ')}: whether it was taken cannot be told`,
    );
};

type FieldOptions = {
  name?: string | undefined;
  description?: string | undefined;
  addTag: string[];
  removeTag: string[];
  setTags?: string | undefined;
  tags: boolean;
  set: string[];
  setJson: string[];
  body?: string | undefined;
};

/**
 * Requested change. `fields` are the same for all assets, but a change to tags depends on each asset's current tags
 * (assumption A08).
 */
type AssetChange = { fields: JsonObject; tags: TagChange | undefined };

async function parseChange(context: Context, options: FieldOptions): Promise<AssetChange> {
  const { name, description } = options;
  const tags = parseTagChange(options);
  const texts = options.set.map((each) => parsePair('--set', each));
  const typed = await Promise.all(options.setJson.map((each) => parseJsonPair('--set-json', '--set', each)));
  const fields: JsonObject = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...Object.fromEntries([...texts, ...typed]),
  };
  const hasChanges = tags !== undefined || Object.keys(fields).length > 0;
  if (hasChanges === (options.body !== undefined))
    throw usageError(
      hasChanges ? '--body and other fields cannot be used together' : 'no change was given',
      'give --name, --description, --add-tag, --set KEY=VALUE or --body FILE',
    );
  if (options.body === undefined) return { fields, tags };
  return { fields: await bodyIn(context, options.body), tags: undefined };
}

async function bodyIn(context: Context, path: string): Promise<JsonObject> {
  const body = await parseExact(await readInputText(context.terminal, path)).catch(() => undefined);
  if (isJsonObject(body)) return body;
  throw usageError(`--body: ${path === '-' ? 'stdin' : path} is not a JSON object`);
}
