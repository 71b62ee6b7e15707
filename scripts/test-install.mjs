// Installs the packed package as a user does, and goes through the first hour with it: sandbox, upload, list, play,
// download, jq, browse, completion, doctor, uninstall. `npm run test:install` does so on each supported Node.js;
// `node scripts/test-install.mjs this` on the Node.js that runs it, as CI does; `npm run test:arm64` on Node.js for
// arm64, under qemu (apt-get install qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross). MEDIACTL_TEST_PACKAGE
// names a package file that is packed already.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { installNode, releases, whyNoArm64 } from './nodes.mjs';
import { readPackedManifest } from './pack.mjs';

const chosen = process.argv.length > 2 ? process.argv.slice(2) : releases;
const isEmulated = (release) => release.startsWith('arm64:');
const missing = chosen.some(isEmulated) && whyNoArm64();
if (missing) {
  console.log(`skipped: ${missing}, so the arm64 build cannot run here`);
  process.exit(0);
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'mediactl-install-'));
chmodSync(folder, 0o755);
const packed = join(folder, `mediactl-${version}.tgz`);
const { MEDIACTL_TEST_PACKAGE } = process.env;
if (MEDIACTL_TEST_PACKAGE) cpSync(MEDIACTL_TEST_PACKAGE, packed);
else execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { stdio: 'ignore' });

/** The name that the package has in npm's folders: a release may give it a scope. */
const { name } = readPackedManifest(packed);

/** Ways to install: more options of npm, packages to remove afterwards, and the user. */
const ways = {
  plain: {},
  '--ignore-scripts': { options: ['--ignore-scripts'] },
  'without optional packages': { removes: ['@napi-rs'] },
  'as another user': { user: 65534 },
};

/** One installation: a user with an empty home, and npm's global folder in it. */
class Install {
  constructor({ node, env }, { options = [], user }) {
    this.home = mkdtempSync(join(folder, 'home-'));
    cpSync('test/fixtures/clip.mp4', join(this.home, 'clip.mp4'));
    cpSync(packed, join(this.home, basename(packed)));
    this.prefix = join(this.home, 'npm');
    this.modules = join(this.prefix, 'lib/node_modules', name, 'node_modules');
    this.node = node;
    this.options = options;
    const { MEDIACTL_API_KEY, MEDIACTL_BASE_URL, XDG_CACHE_HOME, DBUS_SESSION_BUS_ADDRESS, ...inherited } = env;
    this.env = {
      ...inherited,
      PATH: `${join(this.prefix, 'bin')}:${env.PATH}`,
      HOME: this.home,
      SHELL: '/bin/bash',
      CI: '',
      npm_config_prefix: this.prefix,
      npm_config_cache: join(this.home, '.npm'),
    };
    this.identity = user === undefined ? {} : { uid: user, gid: user };
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, this.home]);
  }

  run(command, ...args) {
    const { env, home, identity } = this;
    const ended = spawnSync(command, args, { env, cwd: home, encoding: 'utf8', ...identity });
    if (ended.error) throw ended.error;
    return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
  }

  /** Runs mediactl and expects an exit code. @returns its stdout */
  mediactl(args, expected = 0) {
    const { code, stdout, stderr } = this.run('mediactl', ...args);
    assert.equal(code, expected, `mediactl ${args.join(' ')}: exit ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Runs mediactl, expects its error, and that it is one line of JSON and not a stack. */
  error(args, code) {
    const { stderr, code: exit } = this.run('mediactl', ...args, '--json');
    const [line, ...more] = stderr.trim().split('\n');
    const { error } = JSON.parse(line);
    assert.deepEqual([error.code, more], [code, []], stderr);
    assert.equal(error.exit_code, exit);
    return error;
  }

  install() {
    const { code, stderr } = this.run(
      'npm',
      'install',
      '--global',
      '--no-audit',
      '--no-fund',
      ...this.options,
      `./${basename(packed)}`,
    );
    assert.equal(code, 0, stderr);
  }

  /** Runs `work` while a package is missing. */
  without(name, work) {
    renameSync(join(this.modules, name), join(this.home, 'missing'));
    work();
    renameSync(join(this.home, 'missing'), join(this.modules, name));
  }

  async firstHour({ removes = [] }) {
    this.install();
    for (const name of removes) rmSync(join(this.modules, name), { recursive: true });
    assert.equal(this.mediactl(['--version']), `${version}\n`);
    assert.ok(existsSync(join(this.prefix, 'share/man/man1/mediactl.1')), 'the manual page is installed');
    this.mediactl(['sandbox', 'start', '--port', '0']);
    assert.match(this.mediactl(['upload', './clip.mp4', '--wait']), /clip\.mp4.*ready, verified/);
    assert.match(this.mediactl(['ls']), /clip\.mp4/);
    assert.match(this.mediactl(['download', '@last', '-o', 'copy.mp4']), /verified\s+yes/);
    assert.match(this.mediactl(['play', '@last', '--probe']), /playable\s+yes, hls/);
    assert.equal(this.mediactl(['ls', '--json', '--jq', '.[].name']), 'clip.mp4\n');
    const verdicts = JSON.parse(this.mediactl(['doctor', '--write', '/', '--yes', '--json']));
    assert.deepEqual(
      verdicts.filter(({ status }) => status === 'does_not_hold'),
      [],
    );
    await this.browse();
    const { path } = JSON.parse(this.mediactl(['completion', 'install', '--json']));
    assert.ok(existsSync(path) && path.startsWith(this.home), path);
    const native = JSON.parse(this.mediactl(['doctor', '--json'])).find(({ check }) => check === 'native_parts');
    assert.equal(native.detail, removes.length === 0 ? 'complete' : native.detail);
    assert.equal(native.detail.startsWith('without'), removes.length > 0);
    this.without('jq-web', () => assert.match(this.error(['ls', '--jq', '.'], 'incomplete_install').message, /jq-web/));
    const hasSqlite = this.run(this.node, '-p', "require('module').isBuiltin('node:sqlite')").stdout === 'true\n';
    this.without('libsql', () => {
      if (hasSqlite) assert.match(this.mediactl(['upload', './clip.mp4']), /already uploaded/);
      else assert.match(this.error(['upload', './clip.mp4'], 'incomplete_install').message, /libsql/);
    });
    this.newerState();
    this.install(); // an upgrade keeps what there is
    assert.match(this.mediactl(['upload', './clip.mp4']), /already uploaded/);
    this.mediactl(['mv', '@last', '/Folder', '--create-folders', '--yes']);
    assert.match(this.mediactl(['ls', '/Folder']), /clip\.mp4/);
    this.uninstall();
  }

  /** Opens the page that `browse` serves. */
  async browse() {
    const { env, home, identity } = this;
    const child = spawn('mediactl', ['browse'], { env, cwd: home, stdio: ['ignore', 'pipe', 'inherit'], ...identity });
    const url = await new Promise((found) =>
      child.stdout.once('data', (text) => found(`${text}`.trim().split(/\s/).at(-1))),
    );
    const { status } = await fetch(url);
    child.kill('SIGINT');
    const code = await new Promise((ended) => child.once('close', ended));
    assert.deepEqual([status, [0, 130].includes(code)], [200, true], `browse: ${status}, exit ${code}`);
  }

  /** The state of a newer version is refused, and nothing of it is changed. */
  newerState() {
    const state = this.mediactl(['doctor', '--json']);
    const from = JSON.parse(state).find(({ check }) => check === 'state_folder').detail;
    const to = join(this.home, 'newer-state');
    cpSync(from, to, { recursive: true, filter: (path) => basename(path) !== 'sandbox' });
    const change = `const D = require(${JSON.stringify(join(this.modules, 'libsql'))});
      const d = new D(process.argv[1]); d.exec('PRAGMA user_version = 99'); d.close();`;
    execFileSync(this.node, ['-e', change, join(to, 'receipts.db')]);
    if (this.identity.uid !== undefined) execFileSync('chown', ['-R', `${this.identity.uid}`, to]);
    const list = () =>
      readdirSync(to, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'hex')]);
    const before = list();
    this.env.MEDIACTL_STATE_DIR = to;
    for (const args of [
      ['upload', './clip.mp4'],
      ['uploads', 'ls'],
      ['uploads', 'resume', '--all'],
    ])
      assert.match(this.error(args, 'state_unusable').hint, /latest mediactl/);
    assert.deepEqual(list(), before, 'the newer state is unchanged');
    delete this.env.MEDIACTL_STATE_DIR;
  }

  uninstall() {
    this.mediactl(['sandbox', 'stop']);
    const kept =
      JSON.parse(this.mediactl(['config', 'path', '--json'])).path ?? this.mediactl(['config', 'path']).trim();
    assert.equal(this.run('npm', 'uninstall', '--global', name).code, 0);
    assert.deepEqual(readdirSync(join(this.prefix, 'bin')), []);
    assert.equal(existsSync(join(this.prefix, 'lib/node_modules', name)), false);
    assert.ok(existsSync(kept), 'the configuration is kept');
  }
}

let [passed, failures] = [0, 0];
for (const release of chosen)
  for (const [way, options] of Object.entries(ways)) {
    if (options.user !== undefined && process.getuid() !== 0) continue;
    if (isEmulated(release) && way !== 'plain') continue; // twenty times as slow
    const node = release === 'this' ? { node: process.execPath, env: process.env } : installNode(release);
    const startedAt = Date.now();
    const install = new Install(node ?? {}, options);
    try {
      await install.firstHour(options);
      passed++;
      process.stdout.write(`ok      Node.js ${release}, ${way}: ${Math.round((Date.now() - startedAt) / 1000)} s\n`);
    } catch (error) {
      failures++;
      process.stdout.write(`FAILED  Node.js ${release}, ${way}: ${error.message}\n`);
      install.run('mediactl', 'sandbox', 'stop');
    }
  }
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`Installs: ${passed} passed, ${failures} failed\n`);
process.exitCode = failures > 0 || passed === 0 ? 1 : 0;
