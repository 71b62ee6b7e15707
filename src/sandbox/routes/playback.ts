import { createRoute, z } from '@hono/zod-openapi';
import { mayCall } from '../embedding.ts';
import { type App, playbackPath, requireJson } from '../http.ts';
import { browserImageTypes } from '../media/recognize/image-types.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import { type DerivedFiles, parseDerivedFiles } from '../store/derived-files.ts';
import { embedUrl } from './provider.ts';
import { type SignedUrl, signedUrl } from './records.ts';
import { jsonBody, jsonContent, playbackInfo } from './schemas.ts';

/** Registers the playback info route (§4), which is "authenticated by the playback token" instead of an API key. */
export function playbackRoutes(app: App, service: Service): void {
  app.openapi(
    createRoute({
      operationId: 'getPlaybackInfo',
      summary: 'Exchange a playback token for signed URLs',
      method: 'post',
      path: playbackPath,
      middleware: requireJson,
      request: {
        body: jsonBody(z.object({ asset_id: z.string(), playback_token: z.string() }), 'asset uid and playback token'),
      },
      responses: { 200: jsonContent(playbackInfo, 'playback info') },
    }),
    (c) => {
      const { asset_id, playback_token } = c.req.valid('json');
      const asset = playableAsset(service, asset_id, playback_token);
      const info = playbackInfoOf(asset, service);
      const isRefused = !mayCall(c, service.workspaces.embedRestriction(asset.workspace_uid));
      return c.json(isRefused ? { type: info.type, blocked: true } : info, 200);
    },
  );
}

export const playerConfig = ({ player }: Service) => ({ auto_play: player.autoPlay, theme: player.theme });

/** Finds the asset that a token gives access to. @throws ServiceError 401, 403 or 404 */
export function playableAsset(service: Service, assetUid: string, token: string): AssetRow {
  const uid = service.signer.verifyToken(token, service.now());
  if (!uid) throw new ServiceError(401, 'this playback token is invalid or has expired');
  if (uid !== assetUid.toLowerCase()) throw new ServiceError(403, 'this playback token is for another asset');
  const asset = service.assets.find(uid);
  if (!asset) throw new ServiceError(404, `asset ${uid} does not exist`);
  return asset;
}

type PlaybackInfoBody = z.infer<typeof playbackInfo>;

export function playbackInfoOf(asset: AssetRow, service: Service): PlaybackInfoBody {
  // "one of video, audio, image, document, third_party" (§2)
  const type = asset.type === 'generic' ? 'document' : asset.type;
  // Seeded assets have no media, except with a third party.
  const hasMedia = asset.is_made_up === 0 || type === 'third_party';
  // "the asset may be played … only when status is ready" (§3)
  return asset.status === 'ready' && hasMedia ? mediaInfoOf(asset, service) : { type, blocked: true };
}

function mediaInfoOf(asset: AssetRow, service: Service): PlaybackInfoBody {
  const signed = (file: string) => signedUrl(service, asset, file);
  const extra = (file: string | null) => (file === null ? null : signed(`extras/${file}`));
  const made = parseDerivedFiles(asset.extras);
  const { resume_position_seconds } = asset;
  const blocked = false;
  const chapters = JSON.parse(asset.chapters);
  switch (asset.type) {
    case 'video':
      return {
        type: 'video',
        blocked,
        chapters,
        resume_position_seconds,
        hls_url: asset.has_hls ? signed('hls/master.m3u8') : null,
        source_url: signed('source'),
        preview_sprites_url: extra(made.sprites),
      };
    case 'audio':
      return {
        type: 'audio',
        blocked,
        chapters,
        resume_position_seconds,
        subtitle_tracks: made.subtitles.map(({ file, ...track }) => ({ ...track, ...signed(`extras/${file}`) })),
        source: extra(made.audio) ?? signed('source'),
        waveform_url: extra(made.waveform),
      };
    case 'image':
      return { type: 'image', blocked, variants: variantsOf(asset, made, signed) };
    case 'third_party':
      return { type: 'third_party', blocked, embed_url: embedUrl(service, asset) };
    case 'document':
    case 'generic':
      return {
        type: 'document',
        blocked,
        url: signed('source').url,
        thumbnails: made.pages.map((file, at) => ({ page: at + 1, ...signed(`extras/${file}`) })),
      };
  }
}

/** Returns the image variants, the original first, unless browsers cannot display it and a derived image exists. */
function variantsOf(
  { width, height, content_type }: AssetRow,
  { variants }: DerivedFiles,
  signed: (file: string) => SignedUrl,
) {
  const made = variants.map(({ file, ...size }) => ({ url: signed(`extras/${file}`), ...size }));
  const isHidden = made.length > 0 && !browserImageTypes.has(content_type ?? '');
  return isHidden ? made : [{ url: signed('source'), width, height }, ...made];
}
