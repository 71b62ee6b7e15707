import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failureReason } from '../../../client/api/wait-for-assets.ts';
import { writeStateFile } from '../../../client/state-files.ts';
import { asText } from '../../../contract/json-values.ts';
import type { Asset } from '../../../contract/types.ts';
import { renderWatchPage } from '../../../web/watch/server/page.ts';
import type { Context } from '../../context.ts';
import type { ResolvedPlayback } from '../../library/playback.ts';
import { openWithDefault } from '../open-program.ts';

const pageRetentionMs = 24 * 60 * 60 * 1000;

/**
 * Writes a web page that plays the asset, and opens it in the browser. The file's mode is 0600, because it contains
 * signed URLs. The page works until they expire.
 */
export async function openAsPage(context: Context, uid: string, { info, player }: ResolvedPlayback): Promise<string> {
  // Without a player response there is only a playback token, which cannot read the asset.
  const asset: Asset = player ? await (await context.api()).assets.get(uid) : { uid };
  const { html } = renderWatchPage({
    title: asText(asset.name) ?? uid,
    info,
    config: player?.player_config,
    poster: asset.thumbnail_url,
    contentType: asText(asset.content_type),
    description: asset.description,
    tags: asset.tags,
    status: asset.status,
    reason: failureReason(asset),
    baseUrl: (await context.mediaApi()).transport.baseUrl,
    script: await readFile(context.host.playerScript, 'utf8'),
  });
  const folder = join(context.stateDir, 'watch');
  const path = join(folder, `${encodeURIComponent(uid)}.html`);
  await writeStateFile(path, html);
  await sweep(folder, context.clock.now());
  // A failure is ignored, because the user can open the page on another machine.
  await openWithDefault(context, pathToFileURL(path));
  return path;
}

/** Deletes web pages that are past their retention, because their signed URLs have expired. */
async function sweep(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (now - (await stat(path)).mtimeMs > pageRetentionMs) await rm(path, { force: true });
  }
}
