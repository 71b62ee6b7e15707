import type { OutputPorts } from '../../client/download/output-file.ts';
import { openDownloads, type SavePorts } from '../../client/download/save.ts';
import type { MediaFinder, TransferPorts } from '../../client/download/transfer.ts';
import { usageError } from '../../client/errors.ts';
import type { DownloadReceipts } from '../../client/library/download-receipts.ts';
import type { Context } from '../context.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { confirm } from '../terminal/prompt.ts';

/** Returns what writes the output files of a command. @param option option that names them */
export function outputPorts(context: Context, option: '-o' | '-d' | '--html' | '--report'): OutputPorts {
  const { signal, ownFiles, stateDir, settings, terminal } = context;
  const instead = `use another path with ${option}, or --yes to replace it`;
  return {
    ...{ signal, ownFiles, stateDir, option, replacesAll: settings.yes },
    onExisting: async (path, why) => {
      if (why === 'may_be_other')
        throw usageError(`${path} already exists and may be another file`, '--yes overwrites it');
      if (why === 'changed_meanwhile')
        throw usageError(`${path} already exists`, instead, 'it was created or changed during the download');
      await confirm(context, `${path} already exists. Replace it?`, instead);
    },
    warn: (message) => terminal.warn(message),
  };
}

/** Returns what finds the file of an asset. Playback tokens are masked from then on. */
export const mediaFinder = async (context: Context): Promise<MediaFinder> => ({
  api: await context.api(),
  uploads: () => context.state.receiptsIfAny(),
  onToken: (token) => context.terminal.redactor.add(token),
});

/** Returns what downloads files without saving them, and shows how far they are. */
export async function transferPorts(context: Context, progress: ProgressDisplay): Promise<TransferPorts & MediaFinder> {
  const { terminal } = context;
  return {
    ...(await mediaFinder(context)),
    media: (await context.mediaApi()).transport,
    onEvent: (event) => progress.show(event),
    warn: (message) => terminal.warn(message),
  };
}

type SaveDeps = { option: '-o' | '-d'; progress: ProgressDisplay; receipts: DownloadReceipts | undefined };

export async function savePorts(
  context: Context,
  { option, progress, receipts }: SaveDeps,
): Promise<SavePorts & MediaFinder> {
  const transfer = await transferPorts(context, progress);
  const { origin: service } = transfer.api.transport.baseUrl;
  return { ...outputPorts(context, option), ...transfer, service, receipts };
}

/** Opens the records of downloads, if they can be used. */
export const openReceipts = ({ state, terminal, settings }: Context): Promise<DownloadReceipts | undefined> =>
  openDownloads(state, { mayCreate: !settings.dryRun, warn: (message) => terminal.warn(message) });
