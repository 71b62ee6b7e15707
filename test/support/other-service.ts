import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cli } from './cli.ts';
import { workspace } from './library.ts';
import { type Answers, record } from './recording-server.ts';

/**
 * Starts a service with these responses and creates a user with a profile for it.
 * `kept` returns the field names stored in that profile.
 */
export async function against(answers: Answers, names: Record<string, string> = {}) {
  const { url, requests } = await record(answers);
  const { cli, path } = withProfile(url, names);
  const writes = () => requests.filter(({ method }) => method !== 'GET');
  const kept = () => JSON.parse(readFileSync(path, 'utf8')).profiles.other.names;
  return { cli, requests, writes, kept };
}

/** Creates a user with a profile for the service at a URL, in the config file at `path`. */
export function withProfile(url: string, names: Record<string, string> = {}) {
  const cli = new Cli();
  mkdirSync(join(cli.home, 'config'));
  const path = join(cli.home, 'config/config.json');
  const profile = { baseUrl: url, key: 'a-key-of-this-test', keyStore: 'file', workspace, names };
  writeFileSync(path, JSON.stringify({ current: 'other', profiles: { other: profile } }));
  return { cli, path };
}

/** Creates a service with embed settings of any form; `onWrite` applies the body of a write. */
export function embedService(
  settings: Record<string, unknown>,
  take: (body: Record<string, unknown>, method: string) => void,
): Answers {
  return ({ method, body }) => {
    if (method !== 'GET') take((body ?? {}) as Record<string, unknown>, method);
    return { status: method === 'POST' ? 201 : 200, body: settings };
  };
}
