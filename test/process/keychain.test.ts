import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { inherited } from '../support/environment.ts';
import { hangMs } from '../support/hang.ts';
import { findProcessesOf, isRunning, waitUntilNone } from '../support/leftovers.ts';
import { shellQuote } from '../support/pty.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl, mediactlCommand, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The Secret Service of a real gnome-keyring, in a D-Bus session of its own. */

/** Opens the login keyring, which is created on first use. */
const unlockKeyring = 'printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1';
/** Starts the daemon without the password. There is no display on which it could ask for it. */
const keepKeyringLocked = 'gnome-keyring-daemon --start --components=secrets >/dev/null 2>&1';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readEntry = `
  const [, root, account] = process.argv;
  const { Entry } = require(root + "node_modules/@napi-rs/keyring");
  const entry = new Entry("mediactl", account, { linux: { store: "secret-service" } });
  console.log("stored: " + entry.getPassword());`;

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

/** A user whose keyring outlives the sessions. */
class User {
  readonly home = temporaryFolder();

  /** Runs shell lines in a session with the keyring; `mediactl` is on PATH. */
  async session(keyring: string, ...lines: string[]) {
    const script = ['exec >&3 3>&-', keyring, this.#alias, ...lines].join('\n');
    // D-Bus may start a second daemon, which prints its variables: the output of D-Bus is not that of the lines.
    const start = 'exec 3>&1 >/dev/null; exec dbus-run-session -- sh -c "$1"';
    return this.#run('sh', ['-c', start, 'sh', script]);
  }

  /** Runs shell lines without D-Bus, as on a server. */
  headless(...lines: string[]) {
    return this.#run('sh', ['-c', [this.#alias, ...lines].join('\n')]);
  }

  /** Commands for the lines of a session; `print_stored_key` reads the keychain entry of the profile `default`. */
  readonly #alias = [
    `mediactl() { ${shellQuote(mediactlCommand)} "$@"; }`,
    `print_stored_key() { '${process.execPath}' -e '${readEntry}' '${root}' "default@$MEDIACTL_CONFIG_DIR"; }`,
  ].join('\n');

  async #run(command: string, args: string[]) {
    const { code, stdout, stderr } = await startProcess(command, args, {
      ...inherited,
      HOME: this.home,
      KEY: sandbox.key,
      URL: sandbox.url,
      MEDIACTL_CONFIG_DIR: join(this.home, 'config'),
      MEDIACTL_STATE_DIR: join(this.home, 'state'),
    }).finished;
    const ownLines = stderr.split('\n').filter((line) => !/^dbus-daemon|gcr-prompter|^$/.test(line));
    return { code, stdout, stderr: ownLines.join('\n') };
  }

  config = () => readFileSync(join(this.home, 'config/config.json'), 'utf8');
}

const login = 'echo "$KEY" | mediactl login --base-url "$URL" --with-key';

describe('keychain', { tags: 'gnome-keyring' }, () => {
  it('login stores the key only in the keychain, commands read it from there, and logout removes it', async () => {
    const user = new User();
    const program = `require('${root}dist/index.cjs').fromProfile().then((client) => client.workspaces.list()).then((all) => console.log(all.length, 'workspaces'))`;
    const lines = [
      `'${process.execPath}' -e "${program}"`,
      'mediactl ls --quiet',
      'mediactl doctor --json',
      'print_stored_key',
    ];
    const first = await user.session(unlockKeyring, `${login} --json`, ...lines);
    expect(first.stdout).toContain('"keychain"');
    expect(first.stdout).toContain('2 workspaces');
    expect(first.stdout).toContain(`stored: ${sandbox.key}`);
    expect(first.stdout).toContain('holds the key of profile default');
    expect(user.config()).not.toContain(sandbox.key);
    // Another session of the same user.
    const second = await user.session(unlockKeyring, 'mediactl whoami', 'mediactl logout', 'mediactl auth ls --json');
    expect([second.code, second.stdout]).toEqual([0, expect.stringMatching(/\[\]\n$/)]);
    expect((await user.session(unlockKeyring, 'print_stored_key')).stdout).toBe('stored: null\n');
  });

  it('commands report a locked keychain and suggest unlocking it', async () => {
    const user = new User();
    expect((await user.session(unlockKeyring, login)).code).toBe(0);
    const errorOf = async (line: string) => {
      const { code, stderr } = await user.session(keepKeyringLocked, `${line} --json`);
      return { code, ...JSON.parse(stderr.split('\n').at(-1) ?? '').error };
    };
    expect(await errorOf('mediactl ls')).toMatchObject({
      code: 'keychain_unavailable',
      exit_code: 4,
      cause: 'it is locked',
      hint: expect.stringMatching(/^unlock the keychain, then run the same command again; or .* --key-store file$/),
    });
    expect(await errorOf('mediactl logout')).toMatchObject({
      message: 'cannot remove the key of profile default from the keychain',
      hint: 'unlock the keychain, then mediactl auth logout default',
    });
    expect(await errorOf(`${login} --key-store keychain`)).toMatchObject({
      code: 'keychain_unavailable',
      cause: 'it is locked',
      hint: 'unlock it, or use --key-store file',
    });
    const otherProfile = await user.session(keepKeyringLocked, `${login} --profile other`);
    expect([otherProfile.code, otherProfile.stderr]).toEqual([
      0,
      expect.stringMatching(
        /config\.json \(mode 0600\)\nthe keychain was not used: it is locked\nto move the key there, unlock it/,
      ),
    ]);
  });

  it('commands suggest MEDIACTL_API_KEY if the session has no keychain service, as over SSH', async () => {
    const user = new User();
    expect((await user.session(unlockKeyring, login)).code).toBe(0);
    const { code, stderr } = await user.headless('mediactl ls');
    expect([code, stderr]).toEqual([
      4,
      [
        'error: cannot read the key of profile default from the keychain',
        '  cause: this session has no keychain service',
        '  try:   set MEDIACTL_API_KEY, or mediactl auth login --profile default --key-store file',
      ].join('\n'),
    ]);
    expect((await user.headless('MEDIACTL_API_KEY=$KEY mediactl ls --base-url "$URL"')).code).toBe(0);
  });
});

it('without a keychain service, login stores the key in a file of mode 0600 and says why', async () => {
  const user = new User();
  const { code, stderr } = await user.headless(login);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(
      /config\.json \(mode 0600\)\nthe keychain was not used: this session has no keychain service$/m,
    ),
  ]);
  expect((await user.headless('stat -c %a "$MEDIACTL_CONFIG_DIR/config.json"')).stdout).toBe('600\n');
  expect((await user.headless('mediactl doctor')).stdout).toContain('none: this session has no keychain service');
});

/** A user in a session whose bus accepts connections and never answers. */
async function userOnSilentBus() {
  const home = temporaryFolder();
  const address = join(home, 'bus');
  const sockets: Socket[] = [];
  let onAsked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {})); // the process that asks is killed
    socket.once('data', onAsked);
  }).listen(address);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const config = join(home, 'config');
  const environment = { HOME: home, DBUS_SESSION_BUS_ADDRESS: `unix:path=${address}`, MEDIACTL_CONFIG_DIR: config };
  return { environment, isAsked, configFile: join(config, 'config.json'), keyFile: join(home, 'key.txt') };
}

describe('on a session bus that accepts connections and stays silent', { tags: 'Linux' }, () => {
  it('doctor ends by itself, and says that the keychain does not respond', async () => {
    const { environment } = await userOnSilentBus();
    const { child, finished } = mediactl(['doctor', '--json'], environment);
    const hang = setTimeout(() => child.kill('SIGKILL'), hangMs / 4);
    const { stdout } = await finished;
    clearTimeout(hang);
    expect(JSON.parse(stdout)).toContainEqual({
      check: 'keychain',
      status: 'passed',
      detail: 'none: it does not respond; it may be waiting to be unlocked; keys are stored in the config file',
      error: null,
    });
  });

  it.each([
    ['whoami', 'read'],
    ['logout', 'remove'],
  ])('%s of a profile whose key is in the keychain says that the keychain does not respond', async (verb, action) => {
    const { environment, configFile } = await userOnSilentBus();
    mkdirSync(dirname(configFile));
    const profiles = { default: { baseUrl: sandbox.url, keyStore: 'keychain' } };
    writeFileSync(configFile, JSON.stringify({ current: 'default', profiles }), { mode: 0o600 });
    const { child, finished } = mediactl([verb], environment);
    const hang = setTimeout(() => child.kill('SIGKILL'), hangMs / 4);
    const { code, stderr } = await finished;
    clearTimeout(hang);
    const message = `error: cannot ${action} the key of profile default from the keychain`;
    expect([code, stderr]).toEqual([4, expect.stringContaining(`${message}\n  cause: it does not respond;`)]);
    expect(readFileSync(configFile, 'utf8')).toContain('default');
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a login that waits for the keychain, and the process that asks it', async (signal, exitCode) => {
    const { environment, isAsked, keyFile, configFile } = await userOnSilentBus();
    writeFileSync(keyFile, sandbox.key);
    const script = `exec ${shellQuote(mediactlCommand)} login --base-url '${sandbox.url}' --with-key < '${keyFile}'`;
    const { child, finished } = startProcess('sh', ['-c', script], environment);
    await isAsked;
    const asking = findProcessesOf(child.pid as number);
    child.kill(signal);
    const hang = setTimeout(() => child.kill('SIGKILL'), hangMs / 4);
    const { code } = await finished;
    clearTimeout(hang);
    expect([code, existsSync(configFile)]).toEqual([exitCode, false]);
    expect(asking).toMatchObject([{ command: expect.stringContaining('keychain.cjs') }]);
    for (const { command, environment: variables } of asking) expect(command + variables).not.toContain(sandbox.key);
    expect(await waitUntilNone(() => asking.filter(({ pid }) => isRunning(pid)))).toEqual([]);
  });
});

it('login does not use a keychain that does not return the key it stored', async () => {
  const home = temporaryFolder();
  for (const each of ['bin', 'dist', 'package.json']) cpSync(join(root, each), join(home, each), { recursive: true });
  // A keychain that accepts every key and holds none, in place of the package that reaches the system's.
  const keyring = join(home, 'node_modules/@napi-rs/keyring');
  mkdirSync(keyring, { recursive: true });
  const forgetful = 'exports.AsyncEntry = class { async setPassword() {} async getPassword() {} };';
  writeFileSync(join(keyring, 'index.js'), forgetful);
  symlinkSync(join(root, 'node_modules/libsql'), join(home, 'node_modules/libsql'));
  const config = join(home, 'config');
  const script = `echo "$KEY" | '${process.execPath}' '${home}/bin/mediactl.js' login --base-url "$URL" --with-key`;
  const environment = { KEY: sandbox.key, URL: sandbox.url, HOME: home, MEDIACTL_CONFIG_DIR: config };
  const { code, stderr } = await startProcess('sh', ['-c', script], environment).finished;
  const reason = 'the keychain was not used: it does not return the key that was stored';
  expect([code, stderr]).toEqual([0, expect.stringContaining(reason)]);
  expect(readFileSync(join(config, 'config.json'), 'utf8')).toContain(sandbox.key);
});
