import { stat } from 'node:fs/promises';
import { digestOfDownload } from '../client/download/transfer.ts';
import { usageError } from '../client/errors.ts';
import { isRootPath } from '../client/library/library-paths.ts';
import { checkDirectory } from '../client/upload/decide/check-directory.ts';
import { choiceFrom, FileChooser } from '../client/upload/sources/file-chooser.ts';
import { assertArgument, checkOptions, text } from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import { downloadReporter, transferPorts } from './downloads.ts';
import { findFolder } from './folders.ts';
import type { CheckResult, Client, Difference } from './public-types.ts';
import { choiceNames } from './uploads.ts';

/** Creates the function that compares a directory with a folder, as the command line does. */
export const createCheck = (parts: ClientParts): Client['check'] => {
  const { run, state, warn, errors, signalOf, ownFiles: own } = parts;
  return (directory, call = {}) =>
    run(
      call,
      async ({ api, library }) => {
        assertArgument('directory', text, directory);
        const { folder = '/', download: comparesBytes = false, onProgress } = call;
        if (!(await stat(directory).catch(() => undefined))?.isDirectory())
          throw usageError(`${directory} is not a directory`);
        const chooser = new FileChooser(choiceFrom(call), { own, names: choiceNames });
        const bulk = api.withObserver({ lane: 'bulk' });
        const ports = transferPorts(parts, { call, api: bulk, onEvent: downloadReporter(parts, call, onProgress) });
        const { fileCount, checked } = await checkDirectory(directory, chooser, {
          ...{ library, own, signal: signalOf(call) },
          top: isRootPath(folder) ? undefined : await findFolder(library, folder),
          receipts: await (comparesBytes ? state.receipts() : state.receiptsIfAny()),
          store: await state.uploadsIfAny(),
          readContent: comparesBytes ? (asset) => digestOfDownload(ports, asset) : undefined,
          onNotCompared: ({ path }, reason) => warn(call, `${path} was not compared: ${reason}`),
        });
        for (const message of [...chooser.warnings, ...chooser.unusedFilters]) warn(call, message);
        for (const { path, error } of chooser.failures) warn(call, `${path}: ${errors.toPublic(error).message}`);
        const differences: Difference[] = [];
        const matches: CheckResult['matches'] = [];
        for (const { path, outcome, asset_uid: uid, evidence: found } of checked) {
          const evidence = found ? { kind: found.kind, foundAt: new Date(found.foundAt) } : null;
          if (outcome === 'match') matches.push({ path, uid, evidence });
          else differences.push({ path, outcome, uid, evidence });
        }
        for (const { path } of chooser.failures)
          differences.push({ path, outcome: 'unreadable', uid: null, evidence: null });
        return { files: fileCount, matches, differences };
      },
      checkOptions,
    );
};
