import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { inherited } from './environment.ts';
import { offlineNpm } from './packed.ts';

type Step = {
  id?: string;
  name: string;
  if?: string;
  uses?: string;
  run?: string;
  with?: Record<string, string>;
  env?: Record<string, string>;
};

export type Action = {
  inputs: Record<string, { default?: string; required?: boolean; description: string }>;
  outputs: Record<string, { value: string }>;
  runs: { using: string; steps: Step[] };
};

export const actionFile = fileURLToPath(new URL('../../action.yml', import.meta.url));
export const readAction = (): Action => parse(readFileSync(actionFile, 'utf8'));

export type ActionOptions = {
  inputs: Record<string, string>;
  /** Folder of the caches, which outlives the job. */
  caches: string;
  /** Working directory: the checkout. */
  cwd: string;
  /** Folder into which the action installs. Later runs reuse the first installation, which takes seconds. */
  installation: string;
  /** `github.run_id` of this run. */
  runId: string;
  onStep?: (name: string, child: ChildProcess) => void;
  /** Allows npm to use a network. */
  online?: boolean;
};

/**
 * Runs the steps of action.yml like a GitHub runner: expands expressions, runs `run` with bash in a separate process
 * group, and runs `if: always()` after a failure. The cache actions copy a folder.
 */
export async function runAction({ inputs, caches, cwd, runId, installation, onStep, online = false }: ActionOptions) {
  const temp = join(cwd, '../runner-temp');
  rmSync(temp, { recursive: true, force: true });
  for (const folder of [temp, installation]) mkdirSync(folder, { recursive: true });
  symlinkSync(installation, join(temp, 'mediactl'));
  const action = readAction();
  const files = { output: join(temp, 'output'), summary: join(temp, 'summary.md') };
  const outputs: Record<string, string> = {};
  const given = Object.fromEntries(Object.entries(action.inputs).map(([name, { default: text }]) => [name, text]));
  const values = (): Record<string, string | undefined> => ({
    'runner.temp': temp,
    'github.workspace': cwd,
    'github.workflow': 'nightly',
    'github.job': 'upload',
    'github.ref': 'refs/heads/main',
    'github.run_id': runId,
    'github.run_attempt': '1',
    ...Object.fromEntries(Object.entries({ ...given, ...inputs }).map(([name, value]) => [`inputs.${name}`, value])),
    ...outputs,
  });
  const fill = (text: string): string =>
    text.replace(/\$\{\{ *([^ }]+) *\}\}/g, (_, name) => fill(values()[name] ?? ''));
  const failed: string[] = [];
  let allLogs = '';
  for (const step of action.runs.steps) {
    if (failed.length > 0 && step.if !== 'always()') continue;
    if (step.name === 'Install mediactl' && existsSync(join(installation, 'node_modules/.bin/mediactl'))) continue;
    const options = Object.fromEntries(Object.entries(step.with ?? {}).map(([name, text]) => [name, fill(`${text}`)]));
    if (step.uses?.startsWith('actions/cache/restore@')) restore(caches, options as CacheOptions);
    else if (step.uses?.startsWith('actions/cache/save@')) save(caches, options as CacheOptions);
    else if (step.run !== undefined) {
      writeFileSync(files.output, '');
      const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run], {
        cwd,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...inherited,
          HOME: temp,
          ...offlineNpm(join(temp, 'npm')),
          npm_config_offline: String(!online),
          CI: 'true',
          RUNNER_TEMP: temp,
          GITHUB_OUTPUT: files.output,
          GITHUB_STEP_SUMMARY: files.summary,
          ...Object.fromEntries(Object.entries(step.env ?? {}).map(([name, text]) => [name, fill(`${text}`)])),
        },
      });
      onStep?.(step.name, child);
      let log = '';
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (log += text));
      const code = await new Promise((resolve) => child.on('close', resolve));
      allLogs += log;
      if (code !== 0) failed.push(`${step.name}: ${code}\n${log}`);
      for (const line of readFileSync(files.output, 'utf8').split('\n').filter(Boolean)) {
        const at = line.indexOf('=');
        outputs[`steps.${step.id}.outputs.${line.slice(0, at)}`] = line.slice(at + 1);
      }
    }
  }
  const named = Object.entries(action.outputs).map(([name, { value }]) => [name, fill(value)]);
  const summary = existsSync(files.summary) ? readFileSync(files.summary, 'utf8') : '';
  return { failed, summary, log: allLogs, outputs: Object.fromEntries(named) as Record<string, string> };
}

type CacheOptions = { path: string; key: string; 'restore-keys': string };

const archiveOf = (caches: string, key: string) => join(caches, `${encodeURIComponent(key)}.tar`);

/** Restores the cache of the key, or else the newest whose key begins with one of the restore keys. */
function restore(caches: string, { path, key, 'restore-keys': prefixes }: CacheOptions): void {
  const saved = readdirSync(caches).sort().reverse();
  const starts = prefixes.split('\n').filter(Boolean).map(encodeURIComponent);
  const name = [encodeURIComponent(key), ...starts].flatMap(
    (start) => saved.find((each) => each.startsWith(start)) ?? [],
  )[0];
  if (!name) return;
  mkdirSync(path, { recursive: true });
  execFileSync('tar', ['-C', path, '-xf', join(caches, name)]);
}

function save(caches: string, { path, key }: CacheOptions): void {
  if (existsSync(path)) execFileSync('tar', ['-C', path, '-cf', archiveOf(caches, key), '.']);
}
