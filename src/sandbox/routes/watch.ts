import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { isTimedType } from '../../contract/asset-values.ts';
import { pageFilesPath, respondWithPageFile } from '../../web/shared/page-files.ts';
import { type HtmlPage, listWatchFiles, renderNoticePage, renderWatchPage } from '../../web/watch/server/page.ts';
import { frameAncestors, mayEmbed } from '../embedding.ts';
import { type App, requireJson } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import { playableAsset, playbackInfoOf, playerConfig } from './playback.ts';
import { thumbnailUrl } from './records.ts';
import { jsonBody, uidParameter } from './schemas.ts';

/** Registers the watch page routes. The page is opened with a playback token and reports the playback position. */
export function watchRoutes(app: App, service: Service): void {
  app.get('/watch/:uid', (c) => {
    try {
      return createWatchPage(c, service);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      // The user sees this error page, possibly in a frame, so any site is allowed to embed it.
      const notice = renderNoticePage('This asset cannot be played', describeError(error), service.player.theme);
      return sendPage(c, notice, { status: error.status });
    }
  });

  const files = listWatchFiles(service.watchScripts);
  app.get(`${pageFilesPath}*`, (c) => respondWithPageFile(files, c.req.path) ?? c.notFound());

  app.use('/watch/*', bodyLimit({ maxSize: maxReportBytes, onError: tooLarge }));
  app.openapi(
    createRoute({
      hide: true, // not part of the API
      method: 'post',
      path: '/watch/{uid}/position',
      middleware: requireJson,
      request: { params: uidParameter, body: jsonBody(positionReport, 'playback position') },
      responses: { 204: { description: 'saved' } },
    }),
    (c) => {
      const { playback_token, position_seconds } = c.req.valid('json');
      const asset = playableAsset(service, c.req.valid('param').uid, playback_token);
      if (!isTimedType[asset.type])
        throw new ServiceError(422, `an asset of type ${asset.type} has no playback position`);
      service.assets.setResumePosition(asset.uid, computeResumePosition(position_seconds, asset.duration));
      return c.body(null, 204);
    },
  );
}

/** Maximum size of a position report, which contains a token and a number. */
const maxReportBytes = 4096;
const tooLarge = () => {
  throw new ServiceError(413, `a position report must be at most ${maxReportBytes} bytes`);
};

const positionReport = z.strictObject({ playback_token: z.string(), position_seconds: z.number().min(0) });

function createWatchPage(c: Context, service: Service): Response {
  const token = c.req.query('token');
  if (!token) throw new ServiceError(401, 'the URL lacks a playback token');
  const asset = playableAsset(service, c.req.param('uid') as string, token);
  const settings = service.workspaces.embedRestriction(asset.workspace_uid);
  if (!mayEmbed(c, settings)) throw new ServiceError(403, 'this player cannot be embedded on this site');
  const page = renderWatchPage({
    title: asset.name,
    info: playbackInfoOf(asset, service),
    config: playerConfig(service),
    poster: asset.type === 'audio' ? undefined : thumbnailUrl(service, asset), // of audio, it is a placeholder
    contentType: asset.content_type,
    description: asset.description,
    tags: JSON.parse(asset.tags),
    status: asset.status,
    reason: asset.failure_reason,
    duration: asset.duration,
    scripts: service.watchScripts,
    position: { url: `/watch/${asset.uid}/position`, playbackToken: token },
  });
  return sendPage(c, page, { ancestors: frameAncestors(settings) });
}

type PageResponse = { status?: ServiceError['status'] | 200; ancestors?: string | undefined };

function sendPage(c: Context, page: HtmlPage, { status = 200, ancestors }: PageResponse): Response {
  const policies = [page.contentSecurityPolicy, ancestors].filter(Boolean);
  c.header('Content-Security-Policy', policies.join('; '));
  c.header('Cache-Control', 'no-store');
  c.header('X-Content-Type-Options', 'nosniff');
  return c.html(page.html, status);
}

const describeError = ({ message, status }: ServiceError) =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)} (${status}).${status === 401 ? ' Ask for a new link.' : ''}`;

/** Playback counts as finished in the last 5 % or 30 s, whichever is shorter. */
const endFraction = 0.05;
const maxEndSeconds = 30;

/** Returns the position in seconds from which playback resumes after it stopped at `position`; null for the start. */
export function computeResumePosition(position: number, duration: number | null): number | null {
  if (position === 0) return null;
  const left = (duration ?? Number.POSITIVE_INFINITY) - position;
  return left <= Math.min(maxEndSeconds, (duration ?? 0) * endFraction) ? null : position;
}
