import { Argument, type Command, Option } from '@commander-js/extra-typings';
import type { Api } from '../../../client/api/api.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { findPrimary, listWorkspaces } from '../../../client/library/workspaces.ts';
import { decodeText } from '../../../client/read-file.ts';
import type { WorkspaceRecord } from '../../../contract/types.ts';
import { isSameUid, isUid } from '../../../contract/uid.ts';
import { escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import {
  type Account,
  assertKey,
  firstRunNotice,
  isRemotePlaintext,
  isWithoutProfiles,
  parseBaseUrl,
} from '../../account/account.ts';
import { addExamples, type Define, type FlagsOf, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { rememberWorkspaces, resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { noResult, type Result } from '../../output/result.ts';
import { assertProfileName, type Profile, type ProfileConfig } from '../../settings/profile-file.ts';
import { precedence } from '../../settings/setting-resolver.ts';
import { askLine, askSecret, confirm, readStdin } from '../../terminal/prompt.ts';
import { profileResult } from './columns.ts';

export const login: Define = (command, run) => {
  addExamples(
    command,
    'mediactl auth login --base-url https://media.example.com',
    'mediactl auth login ci --base-url https://media.example.com --with-key < key.txt',
  );
  addLoginOptions(command)
    .hook('preAction', (login) => {
      const [name] = login.args;
      if (name !== undefined) login.setOptionValueWithSource('profile' as never, profileNamed(name, login), 'cli');
    })
    .action(run((context, _name, flags) => runLogin(context, parseLoginRequest(context, flags))));
};

const addLoginOptions = (command: Command) =>
  command
    .description(
      'Saves an API key in a profile, or replaces the key of one. A new profile becomes current. Prompts for the key, or reads it from stdin; there is no option for it. Stores the key in the OS keychain if there is one, otherwise in the config file (mode 0600).',
    )
    .addArgument(withSuggestions(new Argument('[profile]', 'profile of the key, the same as --profile'), 'profiles'))
    .option('--with-key', 'read the key from stdin')
    .option('--skip-verify', 'save the key without checking it')
    .addOption(new Option('--key-store <store>', 'where to store the key').choices(['keychain', 'file'] as const));

/** Maximum length of a profile name as an argument: a longer word may be a key. */
const maxTypedName = 24;

/** Returns a typed profile name. @throws CodedError `usage` (exit 2), without the word, if it may be a key or a host */
function profileNamed(name: string, login: { optsWithGlobals(): object }): string {
  const { profile = name } = login.optsWithGlobals() as { profile?: string };
  if (profile !== name) throw usageError('login accepts one profile', 'leave out the name or --profile');
  const isKey = name.length > maxTypedName;
  if (!isKey && !/[.:/]/.test(name)) return name;
  throw usageError(
    'this is not the name of a profile',
    isKey ? 'mediactl login, which asks for the key' : 'mediactl login --base-url URL; --profile NAME, for any name',
    isKey ? 'a key as an argument would be in the history of your shell' : 'it looks like a host',
  );
}

export type LoginRequest = Partial<FlagsOf<typeof addLoginOptions>> & {
  profile: string;
  /** Origin of the service; by default that of the profile, otherwise asked for. */
  baseUrl?: string | undefined;
  /** Workspace from a flag or variable. That of the profile might belong to another service. */
  workspace?: string | undefined;
};

function parseLoginRequest({ settings }: Context, flags: FlagsOf<typeof addLoginOptions>): LoginRequest {
  const profile = settings.profile ?? 'default';
  assertProfileName(profile);
  const { value, rank } = settings.resolver.resolve('workspace');
  return { ...flags, profile, baseUrl: settings.baseUrl, workspace: rank >= precedence.variable ? value : undefined };
}

export async function runLogin(context: Context, request: LoginRequest): Promise<Result> {
  const { terminal } = context;
  const before = await context.profiles.read();
  const { name, baseUrl } = await chooseProfile(context, request, before);
  const known = before.profiles[name];
  if (isRemotePlaintext(baseUrl))
    terminal.warn(`${baseUrl.origin} does not use HTTPS: your API key can be intercepted`);
  if (known) await confirmReplacement(context, name, known, baseUrl);
  // The workspace, the folder and the learned names belong to one service, so another must not get them.
  const sameService = known && isForService(known, baseUrl) ? known : undefined;
  const { folder: _folder, ...otherSettings } = known?.settings ?? {};
  if (terminal.isInteractive && !request.withKey)
    terminal.info(`Create an API key at ${baseUrl.host}, in the organization’s settings under API keys.`);
  const names = sameService?.names ?? {};
  const { key, api, workspaces } = await readVerifiedKey(context, request, { baseUrl, names });
  try {
    const { workspace: typed, skipVerify } = request;
    const chosen: ChosenWorkspace = !typed
      ? defaultWorkspace(sameService, workspaces)
      : !skipVerify || !isUid(typed)
        ? toProfileFields(await resolveWorkspace(context, api, typed))
        : { workspace: typed };
    if (!chosen.workspace) terminal.info('no workspace selected yet: run mediactl workspaces use NAME');
    if (context.isDryRun(`save the key in profile ${name}`)) return noResult;
    const updated = await saveProfile(context, { ...request, profile: name }, key, {
      baseUrl: baseUrl.origin,
      ...chosen,
      ...(sameService?.names && { names: sameService.names }),
      ...(sameService?.settled && { settled: sameService.settled }),
      ...(known?.settings && { settings: sameService ? known.settings : otherSettings }),
    });
    if (!request.skipVerify) await rememberWorkspaces(context, workspaces, { baseUrl, apiKey: key });
    terminal.info(`logged in to ${baseUrl.origin} as profile ${escapeControls(name)}`);
    tellCurrent(context, name, before);
    if (terminal.isInteractive && isWithoutProfiles(before)) terminal.info(firstRunNotice);
    return profileResult(updated, name);
  } finally {
    await api.transport.close();
  }
}

/** Tells which profile is the current one, if the login may have been meant for another. */
function tellCurrent({ terminal }: Context, name: string, { current, profiles }: ProfileConfig): void {
  if (current === undefined || current === name) return;
  terminal.info(
    profiles[name]
      ? `the current profile is still ${current}; to use this one: mediactl auth switch ${quoteForShell(name)}`
      : `${escapeControls(name)} is now the current profile; back: mediactl auth switch ${current}`,
  );
}

type ChosenWorkspace = Pick<Profile, 'workspace' | 'workspaceName' | 'workspaceIsPrimary'>;

function defaultWorkspace(known: Profile | undefined, workspaces: readonly WorkspaceRecord[]): ChosenWorkspace {
  const { workspace, workspaceName } = known ?? {};
  const found = workspaces.find(({ uid }) => workspace !== undefined && isSameUid(uid, workspace));
  if (found) return toProfileFields(found);
  if (workspace) return { workspace, ...(workspaceName !== undefined && { workspaceName }) };
  const primary = findPrimary(workspaces);
  return primary ? toProfileFields(primary) : {};
}

/** Reports that a profile's key will be replaced. Asks first if it was for another service. */
async function confirmReplacement({ terminal, settings }: Context, name: string, known: Profile, baseUrl: URL) {
  if (isForService(known, baseUrl)) return terminal.info(`profile ${name} already exists: replacing its key`);
  const question = `Profile ${name} is for ${known.baseUrl}. Change it to ${baseUrl.origin}?`;
  if (terminal.isInteractive) return confirm({ terminal, settings }, question);
  terminal.info(`changing profile ${name} from ${known.baseUrl} to ${baseUrl.origin}`);
}

const maxAttempts = 3;

/** Reads the key, and verifies it unless --skip-verify is given. A terminal allows three attempts. */
async function readVerifiedKey(
  context: Context,
  { withKey, skipVerify }: LoginRequest,
  { baseUrl, names }: Pick<Account, 'baseUrl' | 'names'>,
): Promise<{ key: string; api: Api; workspaces: WorkspaceRecord[] }> {
  const { terminal } = context;
  for (let attempt = 1; ; attempt++) {
    let api: Api | undefined;
    try {
      const key = await readKey(context, withKey);
      terminal.redactor.add(key);
      api = context.apiFor({ baseUrl, apiKey: key, names });
      return { key, api, workspaces: skipVerify ? [] : await verifyKey(api) };
    } catch (error) {
      await api?.transport.close();
      const isKeyRejected = error instanceof CodedError && error.kind === 'unauthenticated';
      if (!isKeyRejected || withKey || !terminal.isInteractive || attempt >= maxAttempts) throw error;
      terminal.info(`${error.message}; try again, or press Ctrl-C to quit`);
    }
  }
}

const isForService = ({ baseUrl }: Profile, url: URL) => parseBaseUrl(baseUrl).origin === url.origin;

const keyHints: Record<number, string> = {
  401: 'check the key, then log in again',
  403: 'use --skip-verify to save a key that cannot read assets',
};

/** Verifies the key with one API request, which also returns the workspaces. */
async function verifyKey(api: Api): Promise<WorkspaceRecord[]> {
  return listWorkspaces(api).catch((error) => {
    const { status = 0, isUnattributed = false } = error instanceof CodedError ? error.explanation : {};
    const hint = isUnattributed ? undefined : keyHints[status];
    throw hint ? error.with({ hint }) : error;
  });
}

/**
 * Chooses the profile and the service of the key. At the question, Enter takes the current profile, whose key is then
 * replaced.
 */
async function chooseProfile(
  { terminal, settings }: Context,
  { profile, baseUrl }: LoginRequest,
  { current = '', profiles }: ProfileConfig,
): Promise<{ name: string; baseUrl: URL }> {
  const text = baseUrl ?? profiles[profile]?.baseUrl;
  if (text) return { name: profile, baseUrl: parseBaseUrl(text) };
  if (!terminal.isInteractive)
    throw usageError(
      'no base URL',
      'mediactl auth login --base-url https://media.example.com',
      'an API key belongs to one service',
    );
  const known = profiles[current]?.baseUrl;
  const example = known === undefined ? 'such as https://media.example.com' : `Enter for ${known}`;
  const typed = await askLine(terminal, `Base URL of the service, ${example}`);
  if (typed !== '' || known === undefined) return { name: profile, baseUrl: parseBaseUrl(typed) };
  return { name: settings.profile ?? current, baseUrl: parseBaseUrl(known) };
}

async function readKey({ terminal, settings }: Context, fromStdin?: true): Promise<string> {
  if (!fromStdin && !terminal.isInteractive)
    throw usageError(
      'cannot prompt for the API key',
      `mediactl auth login${settings.baseUrl ? ` --base-url ${quoteForShell(settings.baseUrl)}` : ''} --with-key < key.txt`,
      'stdin is not a terminal, or --no-input is set',
    );
  const typed = fromStdin ? decodeText(await readStdin(terminal)) : await askSecret(terminal, 'API key');
  const key = typed.trim();
  assertKey(key);
  return key;
}

async function saveProfile(
  { profiles, keychain, host, terminal }: Context,
  { profile: name, keyStore }: LoginRequest,
  key: string,
  profile: Omit<Profile, 'key' | 'keyStore'>,
) {
  const requestedStore = keyStore ?? (host.environment.MEDIACTL_KEY_STORE === 'file' ? 'file' : 'keychain');
  const failure = requestedStore === 'keychain' ? await keychain.store(name, key) : undefined;
  if (failure && keyStore === 'keychain') {
    const hint = failure.kind === 'locked' ? 'unlock it, or use --key-store file' : 'use --key-store file';
    throw new CodedError('cannot use the keychain', { code: 'keychain_unavailable', ...failure, hint });
  }
  const inKeychain = requestedStore === 'keychain' && !failure;
  const config = await profiles.update((current) => {
    const isKnown = current.profiles[name] !== undefined; // a key that is replaced changes no default
    current.profiles[name] = { ...profile, ...(inKeychain ? { keyStore: 'keychain' } : { keyStore: 'file', key }) };
    if (!isKnown || current.current === undefined) current.current = name;
  });
  if (!inKeychain) terminal.info(`API key saved in ${profiles.path} (mode 0600)`);
  if (failure) terminal.info(`the keychain was not used: ${failure.reason}`);
  if (failure?.kind === 'locked')
    terminal.info(`to move the key there, unlock it, then: mediactl auth login --profile ${name} --key-store keychain`);
  return config;
}
