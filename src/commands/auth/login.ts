import type { Command } from '@commander-js/extra-typings';
import { Option } from '@commander-js/extra-typings';
import { isPlaintextElsewhere, parseBaseUrl } from '../../account/base-url.ts';
import { assertKey, storeInKeychain } from '../../account/key-stores.ts';
import { assertProfileName, type Profile } from '../../account/profile-file.ts';
import type { Api } from '../../api/api.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { primaryOf, resolveWorkspace } from '../../library/workspaces.ts';
import { ranks } from '../../settings/origins.ts';
import type { Settings } from '../../settings/settings.ts';
import { askLine, askSecret, readStdin } from '../../terminal/prompt.ts';
import { nothing } from '../../terminal/result.ts';
import type { Workspace } from '../../wire/types.ts';
import { isUid } from '../../wire/uid.ts';
import { example, type Run } from '../command.ts';
import { profileResult } from './columns.ts';

export function login(command: Command, run: Run): void {
  example(
    command,
    'mediactl auth login --base-url https://media.example.com',
    'mediactl auth login --profile ci --base-url https://media.example.com --with-key < key.txt',
  );
  command
    .summary('keep an API key under a profile')
    .description(
      'Keeps an API key under a profile and makes it current. The key is asked for without being shown, or read from stdin; no option takes it. It goes to the OS keychain where there is one, else to the config file (mode 0600).',
    )
    .option('--with-key', 'read the key from stdin')
    .option('--no-check', 'do not try the key with one read')
    .addOption(
      new Option('--store <where>', 'keychain or file').choices(['keychain', 'file'] as const),
    )
    .action(
      run(async (context, options) => {
        const { settings, terminal } = context;
        const name = settings.profile ?? 'default';
        assertProfileName(name);
        const config = await context.profiles.read();
        const known = config.profiles[name];
        const baseUrl = await baseUrlOf(context, settings.baseUrl ?? known?.baseUrl);
        if (isPlaintextElsewhere(baseUrl))
          terminal.warn(`${baseUrl.origin} is not https: the key can be read on the way`);
        const key = await readKey(context, options.withKey ?? false);
        terminal.redactor.add(key);
        // What was chosen, learned and set at another service means nothing at this one.
        const home = known && isAt(known, baseUrl) ? known : undefined;
        const names = home?.names ?? {};
        const api = context.apiFor({ baseUrl, apiKey: key, names });
        try {
          const found = options.check ? await check(api) : [];
          const asked = workspaceAsked(settings);
          const unchecked = !options.check && asked !== undefined && isUid(asked);
          const chosen =
            asked && !unchecked ? (await resolveWorkspace(context, api, asked)).uid : asked;
          const workspace = chosen ?? home?.workspace ?? primaryOf(found)?.uid;
          if (!workspace) terminal.say('no workspace is chosen yet: mediactl workspaces use NAME');
          if (context.isDryRun(`keep the key under profile ${name}`)) return nothing;
          const updated = await keep(context, name, options.store, key, {
            baseUrl: baseUrl.origin,
            ...(workspace && { workspace }),
            ...(home?.names && { names: home.names }),
            ...(known?.settings && { settings: settingsAt(known, home) }),
          });
          return profileResult(updated, name);
        } finally {
          await api.transport.close();
        }
      }),
    );
}

const isAt = ({ baseUrl }: Profile, url: URL) => parseBaseUrl(baseUrl).origin === url.origin;

/** The workspace that was typed or is in the environment: the profile's own is another service's. */
function workspaceAsked({ origins }: Settings): string | undefined {
  const { value, rank } = origins.of('workspace');
  return rank >= ranks.variable ? value : undefined;
}

/** A folder is of its service; how things are shown is not. */
function settingsAt({ settings }: Profile, home: Profile | undefined): Profile['settings'] {
  const { folder: _folder, ...others } = settings ?? {};
  return home ? settings : others;
}

/** One read tells whether the key is accepted, and which workspaces there are. */
async function check(api: Api): Promise<Workspace[]> {
  try {
    const found: Workspace[] = [];
    for await (const page of api.workspaces.list()) found.push(...page);
    return found;
  } catch (error) {
    const status = error instanceof MediactlError ? error.explanation.status : undefined;
    if (!(error instanceof MediactlError) || (status !== 401 && status !== 403)) throw error;
    throw error.with({
      hint:
        status === 401
          ? 'check the key, then log in again'
          : 'the key is accepted but may not read; --no-check keeps it all the same',
    });
  }
}

async function baseUrlOf({ terminal }: Context, text: string | undefined): Promise<URL> {
  if (text) return parseBaseUrl(text);
  if (terminal.isInteractive)
    return parseBaseUrl(await askLine(terminal, 'Base URL of the service'));
  throw usageError(
    'no base URL',
    'mediactl auth login --base-url https://media.example.com',
    'nothing says which service the key belongs to',
  );
}

async function readKey({ terminal }: Context, fromStdin: boolean): Promise<string> {
  if (!fromStdin && !terminal.isInteractive)
    throw usageError(
      'the API key cannot be asked for here',
      'mediactl auth login --with-key < key.txt',
      'stdin is no terminal, or input is off',
    );
  const typed = fromStdin
    ? (await readStdin(terminal)).toString('utf8')
    : await askSecret(terminal, 'API key');
  const key = typed.trim();
  assertKey(key);
  return key;
}

async function keep(
  { profiles, host, terminal }: Context,
  name: string,
  store: 'keychain' | 'file' | undefined,
  key: string,
  profile: Omit<Profile, 'key' | 'keyStore'>,
) {
  const wanted = store ?? (host.environment.MEDIACTL_KEY_STORE === 'file' ? 'file' : undefined);
  const inKeychain =
    wanted !== 'file' &&
    (await storeInKeychain({ configDir: profiles.directory, profile: name }, key));
  if (store === 'keychain' && !inKeychain)
    throw new MediactlError('this machine has no keychain that answers', {
      code: 'keychain',
      exitCode: exitCodes.unclassified,
      hint: 'unlock it, or use --store file',
    });
  const config = await profiles.update((current) => {
    current.profiles[name] = {
      ...profile,
      ...(inKeychain ? { keyStore: 'keychain' } : { keyStore: 'file', key }),
    };
    current.current = name;
  });
  if (!inKeychain) terminal.say(`key kept in ${profiles.path} (mode 0600)`);
  return config;
}
