import { createHash } from 'node:crypto';
import type { App } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';

/** Registers the route for a fake third-party player: "provider iframe, not an HLS stream" (§2). */
export function providerRoutes(app: App, service: Service): void {
  app.get('/provider/:uid', (c) => {
    const asset = service.assets.find(c.req.param('uid'));
    if (asset?.type !== 'third_party') throw new ServiceError(404, 'no such video');
    c.header('Content-Security-Policy', `default-src 'none'; style-src 'sha256-${styleHash}'`);
    c.header('X-Content-Type-Options', 'nosniff');
    return c.html(page);
  });
}

/** Returns the URL of the player, with another host name for this machine so that browsers see another origin. */
export function embedUrl({ origin }: Service, { uid }: AssetRow): string {
  const url = new URL(`/provider/${uid}`, origin);
  url.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost';
  return url.href;
}

const style =
  'body{margin:0;min-height:100vh;display:grid;place-content:center;background:#23351f;color:#dcebd6;font:1.1rem/1.5 system-ui,sans-serif;text-align:center}';
const styleHash = createHash('sha256').update(style).digest('base64');
const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A third party</title><style>${style}</style></head>
<body><p>A third party’s video plays here,<br>in its own player.</p></body>
</html>
`;
