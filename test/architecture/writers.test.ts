import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({ path: path.replaceAll('\\', '/'), text: readFileSync(join(src, path), 'utf8') }));

const filesWith = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

it('only these files import the API calls that change a library', () => {
  expect(filesWith(/'[^']*\/writes\.ts'/).sort()).toEqual([
    'client/changes/carry-out.ts',
    'client/changes/embed-changes.ts',
    'client/changes/folder-writes.ts',
    'client/upload/session/upload.ts',
  ]);
});

it('only the reader of folders reads their lists, which it checks', () => {
  expect(filesWith(/'[^']*\/folder-lists\.ts'/)).toEqual(['client/library/folder-reader.ts']);
});

it('only the chooser decides which files are meant, and the page asks the same list of names', () => {
  expect(filesWith(/\/path-filter\.ts'/)).toEqual(['client/upload/sources/file-chooser.ts']);
  expect(filesWith(/\/leftovers\.ts'/).sort()).toEqual([
    'client/upload/sources/path-filter.ts',
    'web/browse/left-out.ts', // before the bytes are sent to the process, which asks the chooser again
  ]);
});

it('outside of client/api, only these files send requests of their own', () => {
  const callers = filesWith(/\btransport\.(?:send|json|exchange)\(/).filter(
    (path) => !/^client\/(?:api|http)\//.test(path),
  );
  expect(callers.sort()).toEqual([
    'cli/commands/api/api.ts', // the request that the user typed
    'cli/commands/doctor/service/probe.ts', // what each assumption is checked with
    'cli/commands/sandbox/server.ts', // reads the health of the sandbox
    'client/library/download.ts', // bytes of a signed URL
    'client/upload/session/send.ts', // bytes of an upload session
    'client/upload/sources/range-request.ts', // bytes of a source of another host
    'sdk/request.ts', // the request that the program passed
  ]);
});

it('only start-uploads.ts assembles an upload run, which the command line, the page and the package start', () => {
  // A watch runs one for each batch of files, of what start-uploads.ts has assembled.
  expect(filesWith(/\bnew BatchUploader\(/)).toEqual([
    'client/upload/batch/directory-watch.ts',
    'client/upload/batch/start-uploads.ts',
  ]);
  expect(filesWith(/\bnew QueueRun\(/)).toEqual(['cli/commands/upload/enqueue.ts']); // as `createRun` of the same
  expect(filesWith(/\bstartUploads\(/).sort()).toEqual([
    'cli/commands/page/drop-uploader.ts',
    'cli/uploading/run-uploads.ts', // of upload, sync, uploads resume and --queue
    'client/upload/batch/start-uploads.ts',
    'sdk/uploads.ts',
  ]);
});

it('only open-library.ts composes a library, and the command line and the package call it', () => {
  expect(filesWith(/\bnew (?:Transport|Api|Library|LibraryWriter|Writer)\(/).sort()).toEqual([
    'client/api/api.ts', // the same API with an observer
    'client/http/transport.ts', // the same transport with an observer
    'client/open/open-library.ts',
  ]);
  expect(filesWith(/\bopenLibrary\(/).sort()).toEqual([
    'cli/context.ts', // of the commands, the page and the worker
    'client/open/open-library.ts',
    'sdk/open-client.ts',
  ]);
});

it('only asset-workspace.ts reads the workspace from the record of an asset', () => {
  const reads = /\basset\w*\.workspace(?:_\w+|s)?\b|\bworkspace\w* \}: AssetRecord|\bfieldNamesFor\('asset_workspace'/;
  const readers = filesWith(reads).filter((path) => !path.startsWith('sandbox/'));
  expect(readers.sort()).toEqual([
    'cli/commands/doctor/service/record-checks.ts', // checks the assumption
    'contract/asset-workspace.ts',
  ]);
  expect(filesWith(/\bshownWorkspace\(/).sort()).toEqual([
    'cli/commands/assets/columns.ts', // to show it
    'client/api/assets.ts', // the reach of the filter `parent`
    'client/library/workspace-in-use.ts',
    'contract/asset-workspace.ts',
  ]);
});
