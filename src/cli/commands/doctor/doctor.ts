import { Option } from '@commander-js/extra-typings';
import { asCodedError, type CodedError, combineFailures } from '../../../client/errors.ts';
import { displayText, escapeControls } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { ErrorRecord } from '../../error-hints.ts';
import { type Column, listBy } from '../../output/result.ts';
import { checks, dependsOn } from './checks.ts';
import { maxRequests } from './service/probe.ts';

/** Result of a check. It is skipped if a check that it depends on did not pass. */
type Finding = {
  check: string;
  status: 'passed' | 'failed' | 'skipped';
  detail: string | null;
  error: ErrorRecord | null;
};

const columns: Column<Finding>[] = [
  { field: 'check', value: ({ check }) => check.replaceAll('_', ' '), noTruncate: true },
  {
    field: 'status',
    value: ({ status }, { colors: { dim, green, red } }) =>
      ({ passed: green, failed: red, skipped: dim })[status](status),
    noTruncate: true,
  },
  { field: 'detail', value: ({ detail, error }) => (error ? errorText(error) : displayText(detail)) },
];

const errorText = ({ message, cause, hint }: ErrorRecord) =>
  escapeControls(`${message}${cause ? ` (${cause})` : ''}${hint ? `; try: ${hint}` : ''}`);

export const doctor: CommandDefinition = (command, run) =>
  addExamples(command, 'mediactl doctor', 'mediactl doctor --json', 'mediactl doctor --service --json > report.json')
    .description(
      'Checks the installation, config, keychain, disk, receipts, account, service, clock and unfinished uploads, and says how to fix problems. With --service, checks the assumptions about the service instead; that report contains no key, token, address or name.',
    )
    .option(
      '--service',
      `check each assumption about the service, with at most ${maxRequests} requests that change nothing`,
    )
    .addOption(
      withSuggestions(
        new Option('--write <folder>', 'check by writes, too: create, change and delete a folder in this one').implies({
          service: true,
        }),
        'folders',
      ),
    )
    .addOption(
      new Option('--learn', 'save the names of fields that it finds, and what it settles, in the profile').implies({
        service: true,
      }),
    )
    .action(
      run(async (context, { service, write, learn }) => {
        if (!service) return runChecks(context);
        return (await import('./service/service-report.ts')).checkService(context, { write, learns: learn ?? false });
      }),
    );

async function runChecks(context: Context) {
  const findings: Finding[] = [];
  const errors: CodedError[] = [];
  const facts = {};
  for (const [check, perform] of Object.entries(checks)) {
    const prerequisite = findings.find((each) => each.check === dependsOn[check]);
    if (prerequisite && prerequisite.status !== 'passed') {
      findings.push({ check, status: 'skipped', detail: null, error: null });
      continue;
    }
    try {
      findings.push({ check, status: 'passed', detail: await perform(context, facts), error: null });
    } catch (thrown) {
      context.signal.throwIfAborted();
      const error = asCodedError(thrown);
      errors.push(error);
      findings.push({ check, status: 'failed', detail: null, error: context.terminal.redactor.errorRecord(error) });
    }
  }
  const failure = combineFailures(errors.length, `${errors.length} checks failed`, errors);
  return { result: listBy(({ check }) => check, findings, columns, ''), failure };
}
