import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cli } from './cli.ts';
import { workspaceUid } from './fake-library.ts';
import { type Responder, startRecordingServer } from './recording-server.ts';

/**
 * Starts a service with these responses and creates a user with a profile for it.
 * `storedFieldNames` returns the field names stored in that profile.
 */
export async function startProfileCli(answers: Responder, names: Record<string, string> = {}) {
  const { url, requests } = await startRecordingServer(answers);
  const { cli, path } = createProfileCli(url, names);
  const writeRequests = () => requests.filter(({ method }) => method !== 'GET');
  const storedFieldNames = () => JSON.parse(readFileSync(path, 'utf8')).profiles.other.names;
  return { cli, requests, writeRequests, storedFieldNames };
}

/** Creates a user with a profile for the service at a URL, in the config file at `path`. */
export function createProfileCli(url: string, names: Record<string, string> = {}) {
  const cli = new Cli();
  mkdirSync(join(cli.home, 'config'));
  const path = join(cli.home, 'config/config.json');
  const profile = { baseUrl: url, key: 'a-key-of-this-test', keyStore: 'file', workspace: workspaceUid, names };
  writeFileSync(path, JSON.stringify({ current: 'other', profiles: { other: profile } }));
  return { cli, path };
}

/** Creates a service with embed settings of any form; `onWrite` applies the body of a write. */
export function embedService(
  settings: Record<string, unknown>,
  onWrite: (body: Record<string, unknown>, method: string) => void,
): Responder {
  return ({ method, body }) => {
    if (method !== 'GET') onWrite((body ?? {}) as Record<string, unknown>, method);
    return { status: method === 'POST' ? 201 : 200, body: settings };
  };
}
