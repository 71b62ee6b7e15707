import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { Language, Parser } from 'web-tree-sitter';
import { inherited } from '../support/environment.ts';
import { createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { hangMs } from '../support/hang.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { mediactlFile } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Completions in real shells, none of which may evaluate names that the service returns. */

const root = fileURLToPath(new URL('../..', import.meta.url));

let home: string;
let requests: { path: string }[];
let env: Record<string, string>;
const evaluatedFile = () => join(home, 'evaluated');

/** Names that a shell would execute if it evaluated them. */
const hostile = () => [
  `$(touch ${evaluatedFile()})`,
  `\`touch ${evaluatedFile()}\``,
  `a; touch ${evaluatedFile()}`,
  'two words',
  "it's",
  'tab\there',
  'line\nend',
];

beforeAll(() => {
  home = temporaryFolder();
  mkdirSync(join(home, 'bin'));
  symlinkSync(mediactlFile, join(home, 'bin/mediactl'));
});

const startService = async () => {
  const answers = createLibrary();
  const server = await startRecordingServer((request) =>
    request.path.endsWith('/folders/')
      ? { body: hostile().map((name, n) => ({ uid: `u${n}`, name, children: [] })) }
      : answers(request),
  );
  requests = server.requests;
  mkdirSync(join(home, 'config'), { recursive: true });
  const profile = { baseUrl: server.url, key: testKey, keyStore: 'file', workspace: workspaceUid };
  writeFileSync(
    join(home, 'config/config.json'),
    JSON.stringify({ current: 'main', profiles: { main: profile, 'other-one': profile } }),
  );
  env = {
    ...inherited,
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
    HOME: home,
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    // names are cached for a minute: each test starts with an empty cache
    MEDIACTL_STATE_DIR: temporaryFolder(),
    MEDIACTL_KEY_STORE: 'file',
    MEDIACTL_COMPLETION_TIMEOUT: '20s', // for busy machines
  };
};

const runShell = async (program: string, args: string[]) =>
  (await promisify(execFile)(program, args, { env, cwd: home, timeout: hangMs })).stdout
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Completes the last word in each shell. @returns the candidates */
const completers: Record<string, (words: string[]) => Promise<string[]>> = {
  bash: (words) =>
    runShell('bash', [
      '--norc',
      '-c',
      `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mediactl; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      join(root, 'completions/mediactl.bash'),
      ...words,
    ]),
  // zsh passes candidates to compadd and _describe, which are intercepted.
  zsh: (words) =>
    runShell('zsh', [
      '-f',
      '-c',
      `compdef() { :; }; _files() { print -r -- FILES }
       compadd() { local word; for word in "\${@[2,-1]}"; do [[ $word == \${words[CURRENT]}* ]] && print -r -- $word; done }
       _describe() { local word; for word in "\${(@P)2}"; do [[ $word == \${words[CURRENT]}* ]] && print -r -- \${word%%:*}; done }
       source $1; shift; words=("$@"); CURRENT=$#; _mediactl; true`,
      'zsh',
      join(root, 'completions/_mediactl'),
      ...words,
    ]),
  fish: async (words) => {
    const line = words.join(' ');
    const found = await runShell('fish', [
      '--no-config',
      '-c',
      `source '${join(root, 'completions/mediactl.fish')}'; complete -C '${line.replaceAll("'", "\\'")}'`,
    ]);
    return found.map((each) => each.split('\t')[0] as string);
  },
};

describe.each(Object.keys(completers))('%s', (name) => {
  describe('completion', { tags: name === 'bash' ? [] : [name] }, () => {
    const complete = (...words: string[]) =>
      (completers[name] as (words: string[]) => Promise<string[]>)(['mediactl', ...words]);

    it('the shell completes commands, subcommands and flags at three levels', async () => {
      await startService();
      expect(await complete('as')).toEqual(['assets']);
      expect(await complete('assets', 'up')).toEqual(['update']);
      expect((await complete('embed', 'domains', '')).sort()).toEqual(['add', 'ls', 'rm', 'sync']);
      expect(await complete('embed', 'domains', 'sync', '--pru')).toEqual(['--prune']);
      expect(await complete('--json', 'assets', 'ls', '--created-a')).toEqual(['--created-after']);
      expect(await complete('assets', 'list', '--stat')).toEqual(['--status']);
      expect(await complete('videos', 'ls', '--stat')).toEqual(['--status']);
      expect(await complete('videos', 'ls', '--recurs')).toEqual([]); // videos have no folders
    });

    it('the shell completes the values of a flag, and nothing for a flag with free text', async () => {
      await startService();
      expect(await complete('play', 'x', '--stream', 'h')).toEqual(['hls']);
      expect(await complete('completion', 'x', '--profile', 'oth')).toEqual(['other-one']);
      expect(await complete('assets', 'rm', '--search', '')).toEqual([]);
      expect(await complete('completion', 'po')).toEqual(['powershell']);
      expect(await complete('assets', 'ls', '--status', 're')).toEqual(['ready']);
    });

    it('the shell completes workspace and asset names and requests them once a minute', async () => {
      await startService();
      expect(await complete('workspaces', 'use', 'M')).toEqual(['Main']);
      expect(await complete('assets', 'get', 'Q')).toEqual(['Quay']);
      const requestsBefore = requests.length;
      expect(await complete('assets', 'get', 'Q')).toEqual(['Quay']);
      expect(requests.length).toBe(requestsBefore);
    });

    it('the shell completes hostile names as text, never runs them and omits those with control characters', async () => {
      await startService();
      const candidates = await complete('folders', 'rm', '');
      expect(candidates).toHaveLength(5); // of 7 names; 2 have control characters
      expect(candidates.join('\n')).toContain('touch');
      expect(candidates.some((candidate) => /two(\\)? words/.test(candidate))).toBe(true);
      expect(() => readFileSync(evaluatedFile())).toThrow('ENOENT');
    });

    it('the shell completes no names and prints no error if the service is unreachable', async () => {
      await startService();
      writeFileSync(
        join(home, 'config/config.json'),
        JSON.stringify({
          current: 'main',
          profiles: {
            main: {
              baseUrl: 'http://127.0.0.1:9',
              key: testKey,
              keyStore: 'file',
              workspace: workspaceUid,
            },
          },
        }),
      );
      expect(await complete('assets', 'get', '')).toEqual([]);
    });
  });
});

describe('completion install', () => {
  const install = async (shellName: string) => {
    await startService();
    const { stdout } = await promisify(execFile)('mediactl', ['completion', 'install', shellName, '--json'], { env });
    return JSON.parse(stdout) as { path: string; next: string | null };
  };

  it('zsh loads the installed script once the suggested line is in .zshrc', { tags: 'zsh' }, async () => {
    const { path, next } = await install('zsh');
    expect(path).toBe(join(home, '.zfunc/_mediactl'));
    const line = /fpath\+=\(\S+\)/.exec(next as string)?.[0];
    const probe = `${line}; autoload -Uz compinit; compinit -u -D; print -r -- $_comps[mediactl]`;
    expect(await runShell('zsh', ['-f', '-c', probe])).toEqual(['_mediactl']);
    writeFileSync(join(home, '.zshrc'), `${line}\n`);
    expect((await install('zsh')).next).toBeNull();
  });

  it('fish loads the installed script', { tags: 'fish' }, async () => {
    expect((await install('fish')).next).toBeNull();
    const candidates = await runShell('fish', ['-c', "complete -C 'mediactl worksp'"]);
    expect(candidates.map((each) => each.split('\t')[0])).toEqual(['workspaces']);
  });

  it('bash loads the installed script through bash-completion or the suggested line', async () => {
    const { next } = await install('bash');
    const load = next
      ? next.slice(next.indexOf('source'))
      : 'source /usr/share/bash-completion/bash_completion; _completion_loader mediactl';
    expect(await runShell('bash', ['--norc', '-c', `${load}; complete -p mediactl`])).toEqual([
      expect.stringContaining('_mediactl mediactl'),
    ]);
  });

  it('completion install writes a script of mode 0644, whatever the umask is', async () => {
    await startService();
    const line = 'umask 000; exec mediactl completion install fish';
    await promisify(execFile)('/bin/sh', ['-c', line], { env: { ...env, HOME: home, XDG_CONFIG_HOME: '' } });
    expect(statSync(join(home, '.config/fish/completions/mediactl.fish')).mode & 0o777).toBe(0o644);
  });

  it('completion install changes nothing in a dry run and exits with 2 for an unknown shell', async () => {
    await startService();
    const runInstall = (args: string[], variables: object) =>
      promisify(execFile)('mediactl', ['completion', 'install', ...args], { env: { ...env, ...variables } });
    const emptyHome = temporaryFolder();
    await runInstall(['--dry-run'], { HOME: emptyHome, SHELL: '/usr/bin/fish' });
    expect(readdirSync(emptyHome)).toEqual([]);
    await expect(runInstall([], { SHELL: '/bin/tcsh' })).rejects.toMatchObject({ code: 2 });
    await expect(runInstall(['powershell'], {})).rejects.toMatchObject({ code: 2 });
    writeFileSync(join(emptyHome, '.config'), '');
    await expect(runInstall(['fish'], { HOME: emptyHome })).rejects.toMatchObject({ code: 2 });
  });
});

it('mediactl completion prints the scripts in completions/', async () => {
  await startService();
  for (const [name, file] of [
    ['bash', 'mediactl.bash'],
    ['zsh', '_mediactl'],
    ['fish', 'mediactl.fish'],
    ['powershell', 'mediactl.ps1'],
  ]) {
    const { stdout } = await promisify(execFile)('mediactl', ['completion', name as string], {
      env,
    });
    expect(stdout).toBe(readFileSync(join(root, 'completions', file as string), 'utf8'));
  }
});

/* PowerShell is not available here: its script is parsed, not run. */
it('the PowerShell completion script has no syntax error', async () => {
  await Parser.init();
  const file = createRequire(import.meta.url).resolve('tree-sitter-powershell/tree-sitter-powershell.wasm');
  const parser = new Parser().setLanguage(await Language.load(file));
  const text = readFileSync(join(root, 'completions/mediactl.ps1'), 'utf8');
  expect(text).toContain('CodeGeneration]::EscapeSingleQuotedStringContent($name)');
  const isValidScript = (script: string) => parser.parse(script)?.rootNode.hasError === false;
  expect([isValidScript(text), isValidScript(text.replace(' -eq ', ' -eq ( '))]).toEqual([true, false]);
});
