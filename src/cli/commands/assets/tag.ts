import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { idsHelp, newestOption } from '../../library/asset-ids.ts';
import { parseWriteLimit } from '../confirm-many.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { tagOption } from '../tag-option.ts';
import { parseTagEdit, runUpdate, type UpdateRequest } from './update.ts';

export function tag(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl tag @last --add sea --remove draft',
    "mediactl tag '/Campaigns/2026/*' --add campaign-2026",
    'mediactl tag --search harbour --add sea --dry-run',
  );
  addTagOptions(command).action(
    run(async (context, ids, flags) => runUpdate(context, await parseTagRequest(context, ids, flags))),
  );
}

function addTagOptions(command: Command) {
  const described = command
    .description('Adds and removes tags of the given assets, or of all that match the filters.')
    .argument('[id...]', idsHelp)
    .addOption(tagOption('--add <slug>', 'add a tag; can be repeated'))
    .addOption(tagOption('--remove <slug>', 'remove a tag; can be repeated'));
  return withFilters(described, 'assets')
    .option('--max-changes <number>', 'maximum number of assets (100)')
    .option(...newestOption);
}

/** @throws MediactlError `usage` (exit 2) if there is no tag to add or remove, or if one is not a slug */
async function parseTagRequest(
  context: Context,
  ids: readonly string[],
  flags: FlagsOf<typeof addTagOptions>,
): Promise<UpdateRequest> {
  const { add, remove, newest } = flags;
  if (add.length + remove.length === 0)
    throw usageError('no tag to add or remove', 'mediactl tag ID --add sea --remove draft');
  const tags = parseTagEdit(['--add', '--remove'], add, remove);
  const limit = parseWriteLimit('--max-changes', flags.maxChanges);
  const filters = await parseFilters(context, flags);
  return { verb: 'tag', collection: 'assets', ids, filters, limit, newest, change: { fields: {}, tags } };
}
