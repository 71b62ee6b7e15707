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
const { createUploadOfSize } = rawHttp(() => sandbox);
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
async function expectOutputMatches(name: string, args: string[], stream: 'stdout' | 'stderr' = 'stdout') {
  const validate = await schemaOf(name);
  const ran = await cli.run([...args, '--json']);
  const text = stream === 'stdout' ? ran.stdout : ran.stderr.trimEnd().split('\n').at(-1);
  const value = JSON.parse(text as string);
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
  return value;
}

const unknownUid = '00000000-0000-4000-8000-000000000000';

describe('mediactl schema', () => {
  it('records of successful and failed uploads match the schema “upload”', async () => {
    const broken = join(cli.home, 'broken.mp4');
    writeFileSync(broken, 'no media');
    const args = ['upload', fixturePath('still.jpg'), broken, '--wait'];
    const records = await expectOutputMatches('upload', args);
    expect(records.map(({ error }: { error: unknown }) => error !== null).sort()).toEqual([...[false, true]]);
  });

  it('records of completed and missing downloads match the schema “downloads”', async () => {
    const [{ asset_uid }] = await cli.json(['upload', fixturePath('tone.mp3'), '--wait']);
    await expectOutputMatches('downloads', ['download', asset_uid, unknownUid, '-d', join(cli.home, 'down')]);
  });

  it('the errors that commands print with --json match the schema “error”', async () => {
    await expectOutputMatches('error', ['assets', 'get', unknownUid], 'stderr');
    await expectOutputMatches('error', ['assets', 'ls', '--nonsense'], 'stderr');
    await expectOutputMatches('error', ['assets', 'rm', unknownUid, unknownUid, '--yes'], 'stderr');
  });

  it('the output of mediactl commands matches the schemas “commands” and “command”', async () => {
    const tree = await expectOutputMatches('commands', ['commands']);
    expect(JSON.stringify(tree)).not.toContain('__complete');
    const described = await expectOutputMatches('command', ['commands', 'assets']);
    expect(JSON.stringify(described)).not.toContain('__complete');
    const { stdout } = await cli.run(['commands']);
    expect(stdout).toContain('mediactl embed domains sync  ');
  });

  it('the records of assets rm match the schema “changes”', async () => {
    const { asset_uid } = await (await createUploadOfSize(5, { asset_name: 'goes' })).json();
    await expectOutputMatches('changes', ['assets', 'rm', asset_uid, unknownUid, '--yes']);
  });

  it('the output of assets ls --html matches the schema “contact-sheet”', async () => {
    await expectOutputMatches('contact-sheet', ['assets', 'ls', '--html', join(cli.home, 'sheet.html')]);
  });

  it('the output of embed domains add matches the schema “embed-domains”', () =>
    expectOutputMatches('embed-domains', ['embed', 'domains', 'add', 'a.example', 'b.example']));

  it('the report of play --probe matches the schema “probe”', async () => {
    await cli.run(['upload', fixturePath('clip.mp4'), '--wait']);
    await expectOutputMatches('probe', ['play', '@last', '--probe']);
  });

  it('the output of folders create --dry-run matches the schema “dry-run”', () =>
    expectOutputMatches('dry-run', ['folders', 'create', '-p', '/a/b', '--dry-run']));

  it('upload --dry-run and --estimate match the schemas “upload-dry-run” and “upload-estimate”', async () => {
    await expectOutputMatches('upload-dry-run', ['upload', fixturePath('clip.mp4'), '--dry-run']);
    await expectOutputMatches('upload-estimate', ['upload', fixturePath('clip.mp4'), '--estimate']);
    await expectOutputMatches('upload-dry-run', ['upload', '-', '--name', 'piped', '--folder', '/', '--dry-run']);
  });

  it('the schema “upload” rejects an incomplete record and accepts an empty list', async () => {
    const validate = await schemaOf('upload');
    expect(validate([{ path: 'x' }])).toBe(false);
    expect(validate([])).toBe(true);
  });

  it('mediactl schema exits with 2 and lists the schemas if the name is unknown', async () => {
    const { code, stderr } = await cli.run(['schema', 'nonsense']);
    expect(code).toBe(2);
    expect(stderr).toContain('upload');
  });
});
