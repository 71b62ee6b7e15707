import { createHash } from 'node:crypto';
import type { Html } from './html.ts';
import type { MediaUrl } from './media-url.ts';

/** Resources of a page, grouped by how it loads them. */
export type Loads = {
  script?: Html | undefined;
  style: Html;
  /** Images: posters, variants, thumbnails. */
  images?: readonly MediaUrl[];
  /** Files that `<video>` or `<audio>` loads natively. */
  media?: readonly MediaUrl[];
  /** HLS streams: fetched by hls.js, played from a blob. */
  streams?: readonly MediaUrl[];
  /** Subtitles: fetched, then loaded from a blob. */
  texts?: readonly MediaUrl[];
  /** Waveforms: fetched and drawn or shown from a blob, or loaded as an image if CORS blocks the fetch. */
  waveforms?: readonly MediaUrl[];
  /** Sprite cues: fetched; they refer to sprite sheets, loaded as images. */
  sprites?: readonly MediaUrl[];
  frames?: readonly MediaUrl[];
  /** True if the page reports its position, to its own origin. */
  tellsItself?: boolean;
};

/** Builds the Content-Security-Policy of a page: allows its script and style by hash, and its resources. */
export function policyOf(loads: Loads): string {
  const { images = [], media = [], streams = [], texts = [], frames = [] } = loads;
  const { waveforms = [], sprites = [] } = loads;
  const fetched = [...streams, ...texts, ...waveforms, ...sprites];
  const hasBlobs = streams.length + texts.length > 0;
  const directives: [string, readonly string[]][] = [
    ['default-src', []],
    ['script-src', loads.script ? [hashOf(loads.script)] : []],
    ['style-src', [hashOf(loads.style)]],
    [
      'img-src',
      [
        'data:',
        ...sources([...images, ...waveforms, ...sprites]),
        ...(waveforms.length > 0 ? ['blob:'] : []),
      ],
    ],
    ['media-src', [...sources([...media, ...streams]), ...(hasBlobs ? ['blob:'] : [])]],
    ['connect-src', [...sources(fetched), ...(loads.tellsItself ? ["'self'"] : [])]],
    ['frame-src', sources(frames)],
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
const sources = (urls: readonly MediaUrl[]) => [
  ...new Set(
    urls.map(({ url }) => {
      const { protocol, origin } = new URL(url);
      return protocol === 'https:' ? 'https:' : origin;
    }),
  ),
];

/** Returns the policy's hash source that allows exactly this script or style. */
export const hashOf = ({ markup }: Html) =>
  `'sha256-${createHash('sha256').update(markup).digest('base64')}'`;
