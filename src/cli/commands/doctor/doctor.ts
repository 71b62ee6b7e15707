import { inferFieldNames } from '../../../client/api/openapi-field-names.ts';
import { nameHint } from '../../../client/api/write-check.ts';
import { exitCodes } from '../../../client/error-table.ts';
import {
  asMediactlError,
  combineFailures,
  type ErrorRecord,
  MediactlError,
  usageError,
} from '../../../client/errors.ts';
import { fieldNamesFor, type NameKey, nameKeys } from '../../../contract/assumptions.ts';
import { paths } from '../../../contract/paths.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import { addExamples, type CommandDefinition } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy, type Result } from '../../output/result.ts';
import { checks, dependsOn } from './checks.ts';

/** Result of a check. `ok` is null if it was skipped because a prerequisite failed. */
type Finding = { check: string; ok: boolean | null; found: string | null; error: ErrorRecord | null };

const columns: Column<Finding>[] = [
  { header: 'CHECK', value: ({ check }) => check, noTruncate: true },
  {
    header: '',
    value: ({ ok }, { colors: { dim, green, red } }) =>
      ok === null ? dim('skipped') : ok ? green('ok') : red('wrong'),
    noTruncate: true,
  },
  { header: 'FOUND', value: ({ found, error }) => (error ? errorText(error) : displayText(found)) },
];

const errorText = ({ message, cause, hint }: ErrorRecord) =>
  escapeControls(`${message}${cause ? ` (${cause})` : ''}${hint ? `; try: ${hint}` : ''}`);

export const doctor: CommandDefinition = (command, run) =>
  addExamples(command, 'mediactl doctor', 'mediactl doctor --learn')
    .description(
      'Checks the installation, config, keychain, disk, receipts, account, service, queue, clock and unfinished uploads, and says how to fix problems. With --learn, reads field names from the API description of the service, if it has one, and saves them in the profile.',
    )
    .option('--learn', 'learn field names that the specification does not define')
    .action(run(async (context, options) => (options.learn ? learn(context) : runChecks(context))));

async function runChecks(context: Context) {
  const findings: Finding[] = [];
  const errors: MediactlError[] = [];
  const facts = {};
  for (const [check, perform] of Object.entries(checks)) {
    const prerequisite = findings.find((each) => each.check === dependsOn[check]);
    if (prerequisite && prerequisite.ok !== true) {
      findings.push({ check, ok: null, found: null, error: null });
      continue;
    }
    try {
      findings.push({ check, ok: true, found: await perform(context, facts), error: null });
    } catch (thrown) {
      const error = asMediactlError(thrown);
      errors.push(error);
      findings.push({ check, ok: false, found: null, error: error.toJSON() });
    }
  }
  const failure = combineFailures(errors.length, `${errors.length} checks failed`, errors);
  return { result: listBy(({ check }) => check, findings, columns, ''), failure };
}

type LearnedName = { key: string; name: string; was: string; changed: boolean };

const learnedColumns: Column<LearnedName>[] = [
  { header: 'KEY', value: ({ key }) => key, noTruncate: true },
  { header: 'NAME', value: ({ name }) => escapeControls(name) },
  { header: '', value: ({ changed, was }) => (changed ? `learned; was ${escapeControls(was)}` : 'as assumed') },
];

/** Reads the service's API description and saves its field names in the profile. */
async function learn(context: Context): Promise<Result> {
  const account = await context.account();
  const { names: found, ambiguous } = inferFieldNames(await readDescription(context));
  // The user marked this field as inverted (`!`), so the configured name is kept.
  if (account.names.embed_enabled?.startsWith('!')) found.embed_enabled = undefined;
  else if (ambiguous.length > 0) {
    const fields = ambiguous.map(escapeControls).join(', ');
    const hint = nameHint('embed_enabled', ambiguous.length === 1 ? fields : 'NAME');
    context.terminal.warn(`not learned: ${fields} may mean the opposite of a restriction, or something else; ${hint}`);
  }
  const learned = nameKeys.flatMap((key): (LearnedName & { key: NameKey })[] => {
    const { [key]: name } = found;
    const was = fieldNamesFor(key, account.names)[0] as string;
    return name === undefined ? [] : [{ key, name, was, changed: name !== was }];
  });
  if (learned.length === 0) throw noUsableDescription(usageError('the API description has none of these fields'));
  const changes = learned.filter(({ changed }) => changed).map(({ key, name }) => [key, name]);
  const { name: inUse = '' } = await context.profileInUse();
  if (changes.length > 0 && !context.isDryRun(`save ${changes.length} names in the profile`))
    await context.profiles.update(({ profiles }) => {
      const profile = profiles[inUse];
      if (!profile) throw usageError('there is no profile to save the names in', 'mediactl auth login');
      profile.names = { ...profile.names, ...Object.fromEntries(changes) };
    });
  return listBy(({ key }) => key, learned, learnedColumns, '');
}

async function readDescription(context: Context): Promise<unknown> {
  const { transport } = await context.api();
  const request = { method: 'GET', url: paths.description(), purpose: { action: 'read the API description' } };
  return transport.json(request).catch((error) => {
    const isMissing = error instanceof MediactlError && error.exitCode === exitCodes.notFound;
    throw isMissing ? noUsableDescription(error) : error;
  });
}

const noUsableDescription = (error: MediactlError) =>
  error.with({
    hint: 'mediactl config set names.KEY NAME, to set a name; mediactl help assumptions lists the keys',
  });
