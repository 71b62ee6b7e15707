import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* Validates the output of commands against `mediactl schema NAME`. */

let sandbox: TestSandbox;
let cli: Cli;
const { create } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
  cli = new Cli({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });
});
afterAll(() => sandbox.end());

async function schemaOf(name: string) {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
  // Accepts any value of these formats: only structure is checked here.
  for (const format of ['uuid', 'uri']) ajv.addFormat(format, true);
  return ajv.compile(JSON.parse((await cli.run(['schema', name])).stdout));
}

/** Runs a command with --json and validates the stream that has the output. */
async function fits(name: string, args: string[], stream: 'stdout' | 'stderr' = 'stdout') {
  const validate = await schemaOf(name);
  const ran = await cli.run([...args, '--json']);
  const text = stream === 'stdout' ? ran.stdout : ran.stderr.trimEnd().split('\n').at(-1);
  const value = JSON.parse(text as string);
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
  return value;
}

const unknownUid = '00000000-0000-4000-8000-000000000000';

describe('schema', () => {
  it('upload: what went well, and what failed', async () => {
    const broken = join(cli.home, 'broken.mp4');
    writeFileSync(broken, 'no media');
    const args = ['upload', fixturePath('still.jpg'), broken, '--wait'];
    const records = await fits('upload', args);
    expect(records.map(({ error }: { error: unknown }) => error !== null).sort()).toEqual([...[false, true]]);
  });

  it('downloads: what came, and what is not there', async () => {
    const [{ asset_uid }] = await cli.json(['upload', fixturePath('tone.mp3'), '--wait']);
    await fits('downloads', ['download', asset_uid, unknownUid, '-d', join(cli.home, 'down')]);
  });

  it('error', async () => {
    await fits('error', ['assets', 'get', unknownUid], 'stderr');
    await fits('error', ['assets', 'ls', '--nonsense'], 'stderr');
    await fits('error', ['assets', 'rm', unknownUid, unknownUid, '--yes'], 'stderr');
  });

  it('commands', async () => {
    const tree = await fits('commands', ['commands']);
    expect(JSON.stringify(tree)).not.toContain('__complete');
    const described = await fits('command', ['commands', 'assets']);
    expect(JSON.stringify(described)).not.toContain('__complete');
    const { stdout } = await cli.run(['commands']);
    expect(stdout).toContain('mediactl embed domains sync  ');
  });

  it('changes', async () => {
    const { asset_uid } = await (await create(5, { asset_name: 'goes' })).json();
    await fits('changes', ['assets', 'rm', asset_uid, unknownUid, '--yes']);
  });

  it('contact-sheet', async () => {
    await fits('contact-sheet', ['assets', 'ls', '--html', join(cli.home, 'sheet.html')]);
  });

  it('embed-domains', () => fits('embed-domains', ['embed', 'domains', 'add', 'a.example', 'b.example']));

  it('probe', async () => {
    await cli.run(['upload', fixturePath('clip.mp4'), '--wait']);
    await fits('probe', ['play', '@last', '--probe']);
  });

  it('dry-run', () => fits('dry-run', ['folders', 'create', '-p', '/a/b', '--dry-run']));

  it('upload-dry-run', async () => {
    await fits('upload-dry-run', ['upload', fixturePath('clip.mp4'), '--dry-run']);
    await fits('upload-estimate', ['upload', fixturePath('clip.mp4'), '--estimate']);
    await fits('upload-dry-run', ['upload', '-', '--name', 'piped', '--folder', '/', '--dry-run']);
  });

  it('a validator that sees: another shape does not fit', async () => {
    const validate = await schemaOf('upload');
    expect(validate([{ path: 'x' }])).toBe(false);
    expect(validate([])).toBe(true);
  });

  it('one that is not there: exit 2, and the list', async () => {
    const { code, stderr } = await cli.run(['schema', 'nonsense']);
    expect(code).toBe(2);
    expect(stderr).toContain('upload');
  });
});
