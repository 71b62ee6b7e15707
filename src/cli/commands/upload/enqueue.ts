import { setFlagsFromString } from 'node:v8';
import { usageError } from '../../../client/errors.ts';
import { hasCredentials, parseSourceUrl } from '../../../client/upload/sources/source-url.ts';
import { isHttpUrl } from '../../../client/upload/sources/upload-file.ts';
import type { QueueAddress } from '../../../queue/queue-address.ts';
import { QueueRun } from '../../../queue/queue-run.ts';
import { Roots } from '../../../queue/roots.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type PreparedRun, runUploads } from '../../uploading/run-uploads.ts';
import type { RunRequest } from '../../uploading/upload-options.ts';
import { openQueue, queueCommand, warnOfQueueState } from '../queue-access.ts';
import type { QueueChoice } from './upload-request.ts';

/** Queues files for the workers (`--queue`). With `--wait`, reports each file's outcome. */
export async function enqueue(
  context: Context,
  { address, roots }: QueueChoice,
  request: RunRequest,
  prepared: PreparedRun,
) {
  const { sources } = prepared;
  const queue = await openWithRoots(context, address, roots, sources.inputs).catch(async (error) => {
    await sources.close();
    throw error;
  });
  return runUploads(context, request, {
    ...prepared,
    createRun: (settings, ports) =>
      new QueueRun(queue.client, queue.roots, settings, { ...ports, wrapQueueing: withFrequentCollection }),
    nextStep: () => `to watch the workers: ${queueCommand(context, address, 'watch')}`,
  });
}

/** Runs `work` while V8 collects garbage before the heap has grown by half: less memory, in the same time. */
async function withFrequentCollection(work: () => Promise<void>): Promise<void> {
  setFlagsFromString('--heap-growing-percent=50');
  try {
    await work();
  } finally {
    setFlagsFromString('--heap-growing-percent=0');
  }
}

async function openWithRoots(
  context: Context,
  address: QueueAddress,
  roots: readonly string[],
  inputs: readonly string[],
) {
  await confirmSecrets(context, inputs);
  const unnamed = roots.find((root) => !/^[A-Za-z][\w-]*=/.test(root));
  if (unnamed !== undefined)
    throw usageError(`--root does not accept '${unnamed}'`, '--root NAME=PATH, with the NAME that the workers use');
  const namedRoots = await Roots.open(roots, context.host.cwd);
  context.warnOfProjectFile();
  const client = await openQueue(context, address, 'write');
  await warnOfQueueState(context, client, namedRoots.names);
  return { client, roots: namedRoots };
}

/** Asks before URLs with a query or credentials are queued. @throws CodedError if the user declines */
async function confirmSecrets(context: Context, named: readonly string[]): Promise<void> {
  const secret = named.filter((path) => isHttpUrl(path) && hasCredentials(path));
  const [first] = secret;
  if (first === undefined) return;
  await confirm(
    context,
    `${escapeControls(parseSourceUrl(first).path)} has a query string or a password, which may give others access. The queue stores it until the file is uploaded. Queue it?`,
  );
}
