import type { Command } from '@commander-js/extra-typings';
import { Option } from '@commander-js/extra-typings';
import type { Api } from '../../../client/api/api.ts';
import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Workspace } from '../../../contract/types.ts';
import { isUid } from '../../../contract/uid.ts';
import type { Account } from '../../account/account.ts';
import { isRemotePlaintext, parseBaseUrl } from '../../account/base-url.ts';
import { assertKey, storeInKeychain } from '../../account/keychain.ts';
import { assertProfileName, type Profile } from '../../account/profile-file.ts';
import type { Context } from '../../context.ts';
import { findPrimary, resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { noResult } from '../../output/result.ts';
import { precedence } from '../../settings/setting-resolver.ts';
import type { Settings } from '../../settings/settings.ts';
import { askLine, askSecret, confirm, readStdin } from '../../terminal/prompt.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { profileResult } from './columns.ts';

export function login(command: Command, run: ActionWrapper): void {
  addExamples(
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
    .addOption(new Option('--store <where>', 'keychain or file').choices(['keychain', 'file'] as const))
    .action(
      run(async (context, options) => {
        const { settings, terminal } = context;
        const name = settings.profile ?? 'default';
        assertProfileName(name);
        const config = await context.profiles.read();
        const known = config.profiles[name];
        const baseUrl = await baseUrlOf(context, settings.baseUrl ?? known?.baseUrl);
        if (isRemotePlaintext(baseUrl)) terminal.warn(`${baseUrl.origin} is not https: the key can be read on the way`);
        if (known) await confirmReplacement(context, name, known, baseUrl);
        // The workspace and the learned names belong to one service, so another must not get them.
        const sameService = known && isForService(known, baseUrl) ? known : undefined;
        const names = sameService?.names ?? {};
        const workspaceName = requestedWorkspace(settings);
        if (terminal.isInteractive && !options.withKey)
          terminal.info(`Keys are made at ${baseUrl.host}: organization’s settings, API keys.`);
        const { key, api, workspaces } = await readVerifiedKey(context, options, {
          baseUrl,
          names,
        });
        try {
          const isUnchecked = !options.check && workspaceName !== undefined && isUid(workspaceName);
          const chosen = isUnchecked
            ? { workspace: workspaceName }
            : workspaceName
              ? toProfileFields(await resolveWorkspace(context, api, workspaceName))
              : defaultWorkspace(sameService, workspaces);
          if (!chosen.workspace) terminal.info('no workspace is chosen yet: mediactl workspaces use NAME');
          if (context.isDryRun(`keep the key under profile ${name}`)) return noResult;
          await context.scopesOf(name, baseUrl).clear();
          await context.storeScopes({ profile: name, baseUrl }, api);
          const updated = await saveProfile(context, name, options.store, key, {
            baseUrl: baseUrl.origin,
            ...chosen,
            ...(sameService?.names && { names: sameService.names }),
            ...(known?.settings && { settings: settingsFor(known, sameService) }),
          });
          const read = api.transport.scopes.get('Read Assets');
          terminal.info(
            `logged in to ${baseUrl.origin} as profile ${escapeControls(name)}${read ? '; the key may read' : ''}`,
          );
          return profileResult(updated, name);
        } finally {
          await api.transport.close();
        }
      }),
    );
}

/** Returns the workspace to save: the profile's own, otherwise the primary workspace, if any. */
function defaultWorkspace(
  sameService: Profile | undefined,
  workspaces: readonly Workspace[],
): Pick<Profile, 'workspace' | 'workspaceName'> {
  if (sameService?.workspace) {
    const { workspace, workspaceName } = sameService;
    return { workspace, ...(workspaceName !== undefined && { workspaceName }) };
  }
  const primary = findPrimary(workspaces);
  return primary ? toProfileFields(primary) : {};
}

/** Reports that a profile's key will be replaced. Asks first if it was for another service. */
async function confirmReplacement(
  { terminal, settings }: Context,
  name: string,
  known: Profile,
  baseUrl: URL,
): Promise<void> {
  if (isForService(known, baseUrl)) return terminal.info(`profile ${name} is there already: it gets another key`);
  const question = `Profile ${name} is for ${known.baseUrl}. Make it one for ${baseUrl.origin}?`;
  if (terminal.isInteractive) return confirm(terminal, question, { yes: settings.yes, instead: '' });
  terminal.info(`profile ${name} was for ${known.baseUrl}, and is for ${baseUrl.origin} now`);
}

const maxAttempts = 3;

/** Reads the key, and verifies it unless --no-check is given. A terminal allows three attempts. */
async function readVerifiedKey(
  context: Context,
  { withKey = false, check: isChecked }: { withKey?: boolean | undefined; check: boolean },
  { baseUrl, names }: Pick<Account, 'baseUrl' | 'names'>,
): Promise<{ key: string; api: Api; workspaces: Workspace[] }> {
  const { terminal } = context;
  for (let attempt = 1; ; attempt++) {
    let api: Api | undefined;
    try {
      const key = await readKey(context, withKey);
      terminal.redactor.add(key);
      api = context.apiFor({ baseUrl, apiKey: key, names });
      return { key, api, workspaces: isChecked ? await verifyKey(api) : [] };
    } catch (error) {
      await api?.transport.close();
      const isKeyRejected = error instanceof MediactlError && error.exitCode === exitCodes.unauthenticated;
      if (!isKeyRejected || withKey || !terminal.isInteractive || attempt >= maxAttempts) throw error;
      terminal.info(`${error.message}; try again, or leave with Ctrl-C`);
    }
  }
}

const isForService = ({ baseUrl }: Profile, url: URL) => parseBaseUrl(baseUrl).origin === url.origin;

/**
 * Returns the workspace from a flag or environment variable. Ignores the workspace in the profile, which might
 * belong to another service.
 */
function requestedWorkspace({ resolver }: Settings): string | undefined {
  const { value, rank } = resolver.resolve('workspace');
  return rank >= precedence.variable ? value : undefined;
}

/** Returns a profile's settings, without the folder if the profile was for another service. */
function settingsFor({ settings }: Profile, sameService: Profile | undefined): Profile['settings'] {
  const { folder: _folder, ...others } = settings ?? {};
  return sameService ? settings : others;
}

/** Verifies the key with one API request, which also returns the workspaces. */
async function verifyKey(api: Api): Promise<Workspace[]> {
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
          : 'the key is accepted but may not read; --no-check keeps it anyway',
    });
  }
}

async function baseUrlOf({ terminal }: Context, text: string | undefined): Promise<URL> {
  if (text) return parseBaseUrl(text);
  if (terminal.isInteractive)
    return parseBaseUrl(await askLine(terminal, 'Base URL of the service, such as https://media.example.com'));
  throw usageError(
    'no base URL',
    'mediactl auth login --base-url https://media.example.com',
    'the service that the key belongs to is not known',
  );
}

async function readKey({ terminal }: Context, fromStdin: boolean): Promise<string> {
  if (!fromStdin && !terminal.isInteractive)
    throw usageError(
      'the API key cannot be asked for here',
      'mediactl auth login --with-key < key.txt',
      'stdin is not a terminal, or input is off',
    );
  const typed = fromStdin ? (await readStdin(terminal)).toString('utf8') : await askSecret(terminal, 'API key');
  const key = typed.trim();
  assertKey(key);
  return key;
}

async function saveProfile(
  { profiles, host, terminal }: Context,
  name: string,
  store: 'keychain' | 'file' | undefined,
  key: string,
  profile: Omit<Profile, 'key' | 'keyStore'>,
) {
  const requestedStore = store ?? (host.environment.MEDIACTL_KEY_STORE === 'file' ? 'file' : undefined);
  const inKeychain =
    requestedStore !== 'file' && (await storeInKeychain({ configDir: profiles.directory, profile: name }, key));
  if (store === 'keychain' && !inKeychain)
    throw new MediactlError('this machine has no keychain that answers', {
      code: 'keychain_write',
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
  if (!inKeychain) terminal.info(`key kept in ${profiles.path} (mode 0600)`);
  return config;
}
