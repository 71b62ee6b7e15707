import { createRoute, z } from '@hono/zod-openapi';
import { mayCall } from '../embedding.ts';
import { type App, jsonRequired, playbackPath } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import { parseExtras } from '../store/extras.ts';
import { signedUrl } from './media-urls.ts';
import { json, playbackInfo, playbackTypes } from './schemas.ts';

/** §4 Playback info: no API key, "authenticated by the playback token". */
export function playbackRoutes(app: App, service: Service): void {
  app.openapi(
    createRoute({
      operationId: 'getPlaybackInfo',
      method: 'post',
      path: playbackPath,
      middleware: jsonRequired,
      request: {
        body: {
          ...json(z.object({ asset_id: z.string(), playback_token: z.string() }), 'both are sent'),
          required: true,
        },
      },
      responses: { 200: json(playbackInfo, 'what to play') },
    }),
    (c) => {
      const { asset_id, playback_token } = c.req.valid('json');
      const asset = playableAsset(service, asset_id, playback_token);
      const info = infoOf(asset, service);
      const isRefused = !mayCall(c, service.embeds.of(asset.workspace_uid));
      return c.json(isRefused ? { type: info.type, blocked: true } : info, 200);
    },
  );
}

/** What a player starts from (§2 Player data). */
export const playerConfig = ({ player }: Service) => ({
  auto_play: player.autoPlay,
  theme: player.theme,
});

/** The asset that a token opens. @throws 401, 403, 404 */
export function playableAsset(service: Service, assetUid: string, token: string): AssetRow {
  const uid = service.signer.readToken(token, service.now());
  if (!uid) throw new ServiceError(401, 'this playback token is not valid, or expired');
  if (uid !== assetUid.toLowerCase())
    throw new ServiceError(403, 'this playback token is for another asset');
  const asset = service.assets.find(uid);
  if (!asset) throw new ServiceError(404, `no asset ${uid}`);
  return asset;
}

/** "one of video, audio, image, document, third_party" (§2): any other file is a document to link. */
const playbackType = (type: string) => playbackTypes.find((each) => each === type) ?? 'document';

export function infoOf(asset: AssetRow, service: Service): z.infer<typeof playbackInfo> {
  const signed = (file: string) => signedUrl(service, asset, file);
  const extra = (file: string | null) => (file === null ? null : signed(`extras/${file}`));
  const type = playbackType(asset.type);
  // "the asset may be played … only when status is ready" (§3)
  // What a seed made up has no media.
  const blocked = asset.status !== 'ready' || asset.is_made_up === 1;
  if (blocked) return { type, blocked };
  const chapters = JSON.parse(asset.chapters);
  const { sprites, waveform, variants } = parseExtras(asset.extras);
  if (type === 'video')
    return {
      type,
      blocked,
      hls_url: asset.has_hls ? signed('hls/master.m3u8') : null,
      source_url: signed('source'),
      preview_sprites_url: extra(sprites),
      chapters,
      resume_position_seconds: asset.resume_position_seconds,
    };
  if (type === 'audio')
    return {
      type,
      blocked,
      source: signed('source'),
      chapters,
      resume_position_seconds: asset.resume_position_seconds,
      subtitle_tracks: [],
      waveform_url: extra(waveform),
    };
  if (type === 'image') {
    const { width, height } = asset;
    const smaller = variants.map(({ file, ...size }) => ({
      url: signed(`extras/${file}`),
      ...size,
    }));
    return { type, blocked, variants: [{ url: signed('source'), width, height }, ...smaller] };
  }
  return { type, blocked, url: signed('source').url, thumbnails: [] };
}
