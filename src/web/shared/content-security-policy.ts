import { createHash } from 'node:crypto';
import type { Html } from './html.ts';
import type { MediaUrl } from './media-url.ts';

/** Resources of a page, grouped by how it loads them. */
export type PageResources = {
  script?: Html | undefined;
  style: Html;
  /** Images: posters, variants, thumbnails. */
  images?: readonly MediaUrl[];
  /** Files that `<video>` or `<audio>` loads natively. */
  media?: readonly MediaUrl[];
  /** HLS streams: fetched by hls.js, played from a blob. */
  streams?: readonly MediaUrl[];
  /** Subtitles: fetched, then loaded from a blob. */
  subtitles?: readonly MediaUrl[];
  /** Waveforms: fetched and drawn or shown from a blob, or loaded as an image if CORS blocks the fetch. */
  waveforms?: readonly MediaUrl[];
  /** Sprite cues: fetched; they refer to sprite sheets, loaded as images. */
  sprites?: readonly MediaUrl[];
  frames?: readonly MediaUrl[];
  /** True if the page reports its position, to its own origin. */
  reportsPosition?: boolean;
};

/** Builds the Content-Security-Policy of a page: allows its script and style by hash, and its resources. */
export function buildPolicy(resources: PageResources): string {
  const { images = [], media = [], streams = [], subtitles = [], frames = [] } = resources;
  const { waveforms = [], sprites = [] } = resources;
  const fetched = [...streams, ...subtitles, ...waveforms, ...sprites];
  const hasBlobs = streams.length + subtitles.length > 0;
  const directives: [string, readonly string[]][] = [
    ['default-src', []],
    ['script-src', resources.script ? [policyHash(resources.script)] : []],
    ['style-src', [policyHash(resources.style)]],
    [
      'img-src',
      [
        'data:',
        ...policySources([...images, ...waveforms, ...sprites]),
        ...(waveforms.length > 0 ? ['blob:'] : []),
      ],
    ],
    ['media-src', [...policySources([...media, ...streams]), ...(hasBlobs ? ['blob:'] : [])]],
    ['connect-src', [...policySources(fetched), ...(resources.reportsPosition ? ["'self'"] : [])]],
    ['frame-src', policySources(frames)],
    ['base-uri', []],
    ['form-action', []],
  ];
  return directives
    .map(([name, values]) => `${name} ${values.length > 0 ? values.join(' ') : "'none'"}`)
    .join('; ');
}

/**
 * Returns the policy's sources: any https host, since https URLs may redirect or refer to other hosts; the exact
 * origin of an http URL, which is a local service.
 */
const policySources = (urls: readonly MediaUrl[]) => [
  ...new Set(
    urls.map(({ url }) => {
      const { protocol, origin } = new URL(url);
      return protocol === 'https:' ? 'https:' : origin;
    }),
  ),
];

/** Returns the policy's hash source that allows exactly this script or style. */
export const policyHash = ({ markup }: Html) =>
  `'sha256-${createHash('sha256').update(markup).digest('base64')}'`;
