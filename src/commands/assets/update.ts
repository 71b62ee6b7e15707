import { type Command, Option } from '@commander-js/extra-typings';
import type { Fields } from '../../api/writes.ts';
import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { record } from '../../terminal/result.ts';
import { namesFor } from '../../wire/assumptions.ts';
import type { Collection } from '../../wire/paths.ts';
import { collect, example, jsonPair, pair, type Run } from '../command.ts';
import { parsedJson, readInputText } from '../input.ts';
import { planned } from '../planned.ts';
import { assetRows } from './columns.ts';
import { eachOf, outcomeOf } from './each.ts';
import { dateHelp, filtersOf, withFilters } from './filters.ts';
import { idHelp } from './resolve.ts';
import { agree, mostOf, targetsOf } from './targets.ts';

export function update(command: Command, run: Run, collection: Collection): void {
  example(
    command,
    `mediactl ${collection} update @last --name "Quay at dusk" --tag sea --tag night`,
    `mediactl ${collection} update --tagged draft --created-before 30d --tag archive --dry-run`,
    `mediactl ${collection} update @last --set-json chapters_enabled=true --dry-run`,
  );
  const described = command
    .summary('change name, description, tags')
    .description(
      `Changes ${collection}: those given, or all that the filters match. What the service took is looked at afterwards; a field that it passed over is an error. ${dateHelp}`,
    )
    .argument('[id...]', `${idHelp}; - for stdin`)
    .option('--name <name>', 'new name')
    .option('--description <text>', 'new description')
    .addOption(
      new Option('--tag <slug>', 'tag to have, in place of those there are; may be repeated')
        .argParser(collect)
        .default([] as string[], ''),
    )
    .option('--no-tags', 'have no tags')
    .option('--set <key=value>', 'any other field, a string', collect, [] as string[])
    .option('--set-json <key=json>', 'any other field, as JSON', collect, [] as string[])
    .option('--body <file>', 'the whole body, a JSON object; - for stdin');
  withFilters(described, collection)
    .option('--tagged <slug>', 'those with this tag')
    .option('--max-update <number>', 'how many at most (100)')
    .action(
      run(async (context, ids, options) => {
        const most = mostOf('--max-update', options.maxUpdate);
        if (options.body === '-' && ids.includes('-'))
          throw usageError('ids and body cannot both come from stdin');
        const fields = await fieldsOf(context, options);
        const filters = await filtersOf(context, { ...options, tag: options.tagged });
        const { targets, byFilter } = await targetsOf(context, collection, ids, filters, most);
        const { [collection]: assets } = await context.api();
        if (context.settings.dryRun)
          return planned(
            context,
            targets.map(({ uid }) => assets.updating(uid, fields)),
          );
        const [only] = targets;
        if (only && targets.length === 1 && !byFilter) {
          const updated = await assets.update(only.uid, fields);
          return record(updated, updated.uid, assetRows);
        }
        if (byFilter)
          await agree(context, collection, targets, { deed: (what) => `update ${what}`, most });
        const outcomes = await eachOf(context, targets, ({ uid }) => assets.update(uid, fields));
        return outcomeOf(context, outcomes, 'updated', collection);
      }),
    );
}

type FieldOptions = {
  name?: string | undefined;
  description?: string | undefined;
  tag: string[];
  tags: boolean;
  set: string[];
  setJson: string[];
  body?: string | undefined;
};

/** The PATCH body: what the options name, or the body given (A08). */
async function fieldsOf(context: Context, options: FieldOptions): Promise<Fields> {
  const { names } = await context.account();
  const [tagsField = 'tags'] = namesFor('asset_tags', names);
  const { name, description, tag, tags } = options;
  if (tag.length > 0 && !tags) throw usageError('--tag and --no-tags exclude each other');
  const named: Fields = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...((tag.length > 0 || !tags) && { [tagsField]: tag }),
    ...Object.fromEntries(options.set.map((each) => pair('--set', each))),
    ...Object.fromEntries(options.setJson.map((each) => jsonPair('--set-json', '--set', each))),
  };
  const isNamed = Object.keys(named).length > 0;
  if (isNamed === (options.body !== undefined))
    throw usageError(
      isNamed ? '--body and other fields exclude each other' : 'nothing says what to change',
      'give --name, --description, --tag, --set KEY=VALUE or --body FILE',
    );
  return options.body === undefined ? named : bodyIn(context, options.body);
}

async function bodyIn(context: Context, path: string): Promise<Fields> {
  const text = await readInputText(context, path);
  const body = parsedJson(text);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Fields;
  throw usageError(`--body: ${path === '-' ? 'stdin' : path} is no JSON object`);
}
