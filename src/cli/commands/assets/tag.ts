import type { Command } from '@commander-js/extra-typings';
import type { TagChange } from '../../../client/changes/tag-change.ts';
import { usageError } from '../../../client/errors.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, idsHelp, newestOption } from '../../library/asset-ids.ts';
import { maxChangesOption } from '../confirm-many.ts';
import { withFilters } from '../filters.ts';
import { parseTagEdit, parseTagOption, tagOption } from '../tag-option.ts';
import { parseTargets, pickOption } from './bulk.ts';
import { runUpdate, type UpdateRequest } from './update.ts';

export function tag(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl tag @last --add sea --remove draft',
    'mediactl tag --tag sumer --add summer --remove sumer',
    'mediactl tag --pick --add sea',
    'mediactl tag @last --set sea,night',
    "mediactl tag '/Campaigns/2026/*' --add campaign-2026",
    'mediactl tag --search harbour --add sea --dry-run',
  );
  addTagOptions(command).action(
    run(async (context, ids, flags) => runUpdate(context, await parseTagRequest(context, ids, flags))),
  );
}

function addTagOptions(command: Command) {
  const described = command
    .description(
      'Adds, removes or replaces tags of the given assets, or of all that match the filters. To rename a tag, filter by it.',
    )
    .argument('[id...]', idsHelp)
    .addOption(tagOption('--add <slug>', 'add a tag'))
    .addOption(tagOption('--remove <slug>', 'remove a tag'))
    .option('--set <slugs>', "replace all tags: sea,night; '' removes all tags");
  return withFilters(described, 'assets')
    .option(...pickOption)
    .option(...maxChangesOption)
    .option(...newestOption)
    .option(...anyWorkspaceOption);
}

type TagFlags = FlagsOf<typeof addTagOptions>;

async function parseTagRequest(context: Context, ids: readonly string[], flags: TagFlags): Promise<UpdateRequest> {
  const tags = parseTagChange(flags);
  const targets = await parseTargets(context, { verb: 'tag', collection: 'assets', ids }, flags);
  return { ...targets, change: { fields: {}, tags } };
}

/** @throws CodedError `usage` (exit 2) if there is no change, if options conflict, or if a tag is not a slug */
function parseTagChange({ add, remove, set }: TagFlags): TagChange {
  const isEdit = add.length + remove.length > 0;
  if (isEdit === (set !== undefined))
    throw usageError(
      isEdit ? '--set and --add or --remove cannot be used together' : 'no change was given',
      'give --add and --remove SLUG, or --set SLUGS to replace all tags',
    );
  if (set === undefined) return parseTagEdit(add, remove);
  return { set: set === '' ? [] : parseTagOption('--set', [set]) };
}
