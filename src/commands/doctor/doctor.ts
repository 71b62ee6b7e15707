import type { Context } from '../../context.ts';
import { type ErrorRecord, type MediactlError, someFailed } from '../../errors.ts';
import { cell, printable } from '../../terminal/printable.ts';
import { type Column, listBy } from '../../terminal/result.ts';
import { type Define, example } from '../command.ts';
import { checks, run as runCheck, standsOn } from './checks.ts';
import { learn } from './learn.ts';

type Finding = {
  check: string;
  /** Null where an earlier failure left nothing to check. */
  ok: boolean | null;
  found: string | null;
  error: ErrorRecord | null;
};

const columns: Column<Finding>[] = [
  { header: 'CHECK', value: ({ check }) => check, whole: true },
  {
    header: '',
    value: ({ ok }, { colors }) =>
      ok === null ? colors.dim('skipped') : ok ? colors.green('ok') : colors.red('wrong'),
    whole: true,
  },
  {
    header: 'FOUND',
    value: ({ found, error }) =>
      error
        ? [error.message, error.hint]
            .filter(Boolean)
            .map((text) => printable(text as string))
            .join('; try ')
        : cell(found),
  },
];

export const doctor: Define = (command, run) => {
  example(command, 'mediactl doctor', 'mediactl doctor --learn');
  command
    .summary('check this machine, the account and the service; learn its names')
    .description(
      'Checks config, account, service, clock and unfinished uploads, and names what to do. With --learn, reads the service’s own description where it has one, and keeps in the profile what its fields are called.',
    )
    .option('--learn', 'learn the names that the specification does not show')
    .action(run(async (context, options) => (options.learn ? learn(context) : examine(context))));
};

async function examine(context: Context) {
  const findings: Finding[] = [];
  const errors: MediactlError[] = [];
  for (const [check, perform] of Object.entries(checks)) {
    const isSound = (other: string) => findings.find((each) => each.check === other)?.ok === true;
    if (check in standsOn && !isSound(standsOn[check] as string)) {
      findings.push({ check, ok: null, found: null, error: null });
      continue;
    }
    const { found = null, error } = await runCheck(perform, context);
    if (error) errors.push(error);
    findings.push({ check, ok: error === undefined, found, error: error?.toJSON() ?? null });
  }
  const [only, ...more] = errors;
  return {
    result: listBy(({ check }) => check, findings, columns, ''),
    failure:
      more.length > 0 ? someFailed(`${errors.length} checks found something wrong`, errors) : only,
  };
}
