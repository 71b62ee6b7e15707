import { CodedError, usageError } from '../../../../client/errors.ts';
import { isRootPath } from '../../../../client/library/library-paths.ts';
import type { NameOverrides } from '../../../../contract/assumptions.ts';
import { pluralize } from '../../../../shared/figures.ts';
import { displayText } from '../../../../shared/sanitize.ts';
import type { Context } from '../../../context.ts';
import { resolveFolder } from '../../../library/folders.ts';
import { type Column, listBy } from '../../../output/result.ts';
import { confirm } from '../../../terminal/prompt.ts';
import { type AssumptionJudgment, judgeAssumptions } from './check-service.ts';
import { maxRequests, ServiceProbe, sendReadTrial } from './probe.ts';
import type { Judgment } from './verdict.ts';
import { WriteTrial } from './write-trial.ts';

/** Longest wait for another run on this machine that writes. */
const maxTurnWaitMs = 120_000;

type AssumptionFinding = {
  /** Its number in docs/assumptions.md. */
  assumption: string;
  topic: string;
  status: Judgment['status'];
  request: string | null;
  detail: string;
  hint: string | null;
};

const columns: Column<AssumptionFinding>[] = [
  { field: 'assumption', noTruncate: true },
  {
    field: 'status',
    value: ({ status }, { colors: { dim, green, red } }) =>
      ({ holds: green, does_not_hold: red, not_tried: dim })[status](status.replaceAll('_', ' ')),
    noTruncate: true,
  },
  { field: 'topic', value: ({ topic }) => topic.replaceAll('`', '') },
  { field: 'detail', value: ({ detail, hint }) => displayText(hint ? `${detail}; try: ${hint}` : detail) },
];

/** Options of `doctor --service`: the folder in which it may write, and whether the profile keeps what it finds. */
type ServiceOptions = { write?: string | undefined; learns?: boolean };

/** Checks what mediactl assumes of the service, and reports it without keys, tokens, addresses and names of the library. */
export async function checkService(context: Context, { write, learns }: ServiceOptions) {
  const { terminal, settings } = context;
  if (learns) await assertProfile(context);
  const { api, library } = await context.open();
  const changes =
    write === undefined ? 'GET, and POST /playback/info/, which changes nothing' : 'reads, and changes of its own';
  terminal.info(`sends at most ${maxRequests} requests: ${changes}`);
  // Preconditions: the service responds, accepts the key, and the workspace is known.
  await sendReadTrial(api.transport);
  const { primaryWorkspace } = settings;
  const probe = new ServiceProbe(api, { workspace: await library.workspace(false), primaryWorkspace });
  probe.requestCount = api.transport.connection.requestCount;
  const { judgments, left } =
    write === undefined ? await judgeReads(context, probe) : await judgeWrites(context, probe, write);
  if (learns && !settings.dryRun) {
    const saved = await learn(context, judgments);
    for (const each of saved) terminal.info(`saved ${displayText(each)}: run it again, to check with it`);
  }
  const clean = cleaner(context, api.transport.baseUrl);
  const findings = judgments.map(
    ({ id, topic, status, sends, detail, hint }): AssumptionFinding => ({
      assumption: id,
      topic,
      status,
      request: sends,
      detail: clean(detail),
      hint: hint ?? null,
    }),
  );
  terminal.info(`${countStatuses(findings)}; ${pluralize(probe.requestCount, 'request')}`);
  return {
    result: listBy(({ assumption }) => assumption, findings, columns, ''),
    failure: left ?? failureOf(findings),
  };
}

/** Judgments, and the error for what was not deleted again. */
type Judged = { judgments: readonly AssumptionJudgment[]; left?: CodedError | undefined };

async function judgeReads({ terminal, stateDir, signal }: Context, probe: ServiceProbe): Promise<Judged> {
  const left = await WriteTrial.leftIn(probe, stateDir);
  if (left.length > 0) terminal.warn('a run with --write was interrupted: run it again, to delete what it has left');
  return { judgments: await judgeAssumptions(probe, signal) };
}

/** Judges by writes, too, in a folder of its own, and deletes what an interrupted run has left. */
async function judgeWrites(context: Context, probe: ServiceProbe, path: string): Promise<Judged> {
  const { terminal, stateDir, signal, state } = context;
  const tree = await probe.tree();
  const place = isRootPath(path) ? undefined : await resolveFolder(context, tree, path);
  const where = place?.path ?? 'the top level';
  if (context.isDryRun(`create a folder in ${where} with two folders and a file, and delete it`))
    return { judgments: await judgeAssumptions(probe, signal) };
  const question = `Create a folder in ${where} with two folders and a file, change them, and delete them?`;
  await confirm(context, question, 'add --yes');
  const turn = await state.takeTurn({ name: 'doctor', waitMs: maxTurnWaitMs, isRequired: true });
  try {
    for (const left of await WriteTrial.leftIn(probe, stateDir)) {
      if (!(await left.clean())) throw notDeleted(left);
      terminal.info('deleted what an interrupted run had left');
    }
    const trial = new WriteTrial(probe, stateDir, place);
    await trial.save();
    const judgments = await judgeAssumptions(probe, signal, trial);
    return { judgments, left: trial.isClean ? undefined : notDeleted(trial) };
  } finally {
    turn.release();
  }
}

const notDeleted = ({ name }: WriteTrial) =>
  new CodedError(`the service did not delete all that begins with ${name}`, {
    code: 'check_failed',
    hint: 'run it again, with an API key that may delete assets and folders: it deletes this first',
  });

/** Returns a function that removes addresses and secrets from a text. */
function cleaner({ terminal }: Context, { host, hostname }: URL) {
  return (text: string) =>
    terminal.redactor
      .redact(text)
      .replace(/\bhttps?:\/\/[^\s"']+/g, '{url}')
      .replaceAll(host, '{host}')
      .replaceAll(hostname, '{host}');
}

function countStatuses(findings: readonly AssumptionFinding[]): string {
  const count = (wanted: Judgment['status']) => findings.filter(({ status }) => status === wanted).length;
  return `${count('holds')} assumptions hold, ${count('does_not_hold')} do not, ${count('not_tried')} were not tried`;
}

function failureOf(findings: readonly AssumptionFinding[]): CodedError | undefined {
  const failed = findings.filter(({ status }) => status === 'does_not_hold').map(({ assumption }) => assumption);
  if (failed.length === 0) return undefined;
  return new CodedError(
    `${pluralize(failed.length, 'assumption')} of mediactl ${failed.length === 1 ? 'does' : 'do'} not hold for this service`,
    {
      code: 'check_failed',
      reason: failed.join(', '),
      hint: 'mediactl help assumptions, for what it does then',
    },
  );
}

/** @throws CodedError `usage` (exit 2) if no profile of the service in use can keep what is found */
export async function assertProfile(context: Context): Promise<void> {
  const { profile } = await context.profileInUse();
  const { profile: name, baseUrl } = await context.account();
  if (profile && name !== 'environment' && profile.baseUrl === baseUrl.origin) return;
  throw usageError('--learn needs a profile of the service in use', 'mediactl auth login');
}

/**
 * Saves the names that were found in the profile in use, and what is settled. What an earlier run has settled stays, if
 * this one did not try it.
 *
 * @returns what was saved, as `config set` would
 */
export async function learn(context: Context, judgments: readonly AssumptionJudgment[]): Promise<string[]> {
  const { name = '' } = await context.profileInUse();
  const found: NameOverrides = Object.assign({}, ...judgments.map(({ names }) => names));
  const tried = judgments.filter(({ status }) => status !== 'not_tried');
  await context.profiles.update(({ profiles }) => {
    const profile = profiles[name];
    if (!profile) return;
    if (Object.keys(found).length > 0) profile.names = { ...profile.names, ...found };
    const verdicts = Object.fromEntries(tried.map(({ id, status }) => [id, status === 'holds']));
    profile.settled = {
      at: new Date(context.clock.now()).toISOString(),
      holds: { ...profile.settled?.holds, ...verdicts },
    };
  });
  return Object.entries(found).map(([key, field]) => `field_names.${key} ${field}`);
}
