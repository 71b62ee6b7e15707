import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { ffmpeg } from '../support/ffmpeg.ts';
import { mediaSamples } from '../support/requirements.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Media that other people made, which `node scripts/media-samples.mjs` fetches: they go up, play, and come back. */

/** Returns true if ffmpeg, asked directly, decodes no picture and no sound of a file without an error. */
const isUndecodable = (name: string) => {
  const args = ['-nostdin', '-v', 'error', '-xerror', '-i', join(mediaSamples, name), '-f', 'null', '-'];
  const { status, stderr } = spawnSync('ffmpeg', args, { encoding: 'utf8' });
  return status !== 0 || stderr !== '';
};

describe('media by other people', { tags: ['ffmpeg', 'media-samples'], timeout: 900_000 }, () => {
  let sandbox: TestSandbox;
  let cli: Cli;
  beforeAll(async () => {
    sandbox = await startSandbox({ ffmpeg, strict: false, rateLimit: { limit: 1_000_000, windowSeconds: 3600 } });
    cli = new Cli({
      MEDIACTL_API_KEY: sandbox.key,
      MEDIACTL_BASE_URL: sandbox.url,
      MEDIACTL_WORKSPACE: sandbox.workspace,
    });
  });
  afterAll(() => sandbox.end());

  it('each file is uploaded, plays unless ffmpeg cannot decode it, and is downloaded as it was or named as a rendition', async () => {
    const names = readdirSync(mediaSamples);
    const upload = await cli.run(['upload', mediaSamples, '/', '--existing', 'upload', '--wait', '--json']);
    const uploaded = JSON.parse(upload.stdout) as Uploaded[];
    expect(uploaded.map(({ path }) => path.split('/').at(-1)).sort()).toEqual(names.sort());
    const ready = uploaded.filter(({ asset_status }) => asset_status === 'ready');
    const failed = uploaded.filter(({ error }) => error?.code === 'processing_failed');
    expect(ready.length + failed.length).toBe(names.length);
    expect(failed.map(({ asset_name }) => asset_name).filter((name) => !isUndecodable(name))).toEqual([]);
    expect(failed.filter(({ error }) => !error?.cause)).toEqual([]);

    for (const { asset_uid } of ready) await cli.json(['play', asset_uid, '--probe']);

    const folder = temporaryFolder();
    const uids = ready.map(({ asset_uid }) => asset_uid);
    const download = await cli.run(['download', '-', '-d', folder, '--json'], { stdin: uids.join('\n') });
    const saved = JSON.parse(download.stdout) as { asset_uid: string; path: string; verified: boolean | null }[];
    const renditions = saved.filter(({ asset_uid, path }) => {
      const { asset_name } = uploaded.find((each) => each.asset_uid === asset_uid) as Uploaded;
      return !readFileSync(path).equals(readFileSync(join(mediaSamples, asset_name)));
    });
    expect(saved).toHaveLength(ready.length);
    expect(renditions.filter(({ verified }) => verified)).toEqual([]);
    expect(renditions.filter(({ path }) => !download.stderr.includes(`${path} is a rendition`))).toEqual([]);
    const verified = saved.filter((each) => each.verified).length;
    process.stdout.write(
      `${names.length} files: ${ready.length} ready, ${failed.length} failed; ` +
        `${saved.length - renditions.length} identical, ${verified} verified, ${renditions.length} renditions\n`,
    );
  });
});

type Uploaded = {
  path: string;
  asset_uid: string;
  asset_name: string;
  asset_status: string;
  error: { code: string; cause?: string } | null;
};
