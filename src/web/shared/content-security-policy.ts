import { createHash } from 'node:crypto';
import type { Html } from './html.ts';
import type { MediaUrl } from './media-url.ts';

/** Resources of a page, grouped by how the page loads them. */
export type PageResources = {
  script?: Html | undefined;
  style: Html;
  /** Images: posters, variants, thumbnails. */
  images?: readonly MediaUrl[];
  /** Files that `<video>` or `<audio>` loads natively. */
  media?: readonly MediaUrl[];
  /** HLS streams, which hls.js fetches and plays from a blob URL. */
  streams?: readonly MediaUrl[];
  /** Subtitles, which are fetched and then loaded from a blob URL. */
  subtitles?: readonly MediaUrl[];
  /**
   * Waveforms, which are fetched and then drawn or shown from a blob URL. If CORS blocks the fetch, the page loads
   * them as images.
   */
  waveforms?: readonly MediaUrl[];
  /** Sprite cue files, which are fetched. They refer to sprite sheets, which are loaded as images. */
  sprites?: readonly MediaUrl[];
  frames?: readonly MediaUrl[];
  /** True if the page reports its playback position to its own origin. */
  reportsPosition?: boolean;
};

/** Builds the Content-Security-Policy of a page. Allows its script and style by hash, and its resources by source. */
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
      ['data:', ...policySources([...images, ...waveforms, ...sprites]), ...(waveforms.length > 0 ? ['blob:'] : [])],
    ],
    ['media-src', [...policySources([...media, ...streams]), ...(hasBlobs ? ['blob:'] : [])]],
    ['connect-src', [...policySources(fetched), ...(resources.reportsPosition ? ["'self'"] : [])]],
    ['frame-src', policySources(frames)],
    ['base-uri', []],
    ['form-action', []],
  ];
  return directives.map(([name, values]) => `${name} ${values.length > 0 ? values.join(' ') : "'none'"}`).join('; ');
}

/**
 * Returns the Content-Security-Policy sources for media URLs. An https URL allows every https host, because it
 * might redirect or refer to another host. An http URL belongs to a local service, so it allows only its own
 * origin.
 */
const policySources = (urls: readonly MediaUrl[]) => [
  ...new Set(
    urls.map(({ url }) => {
      const { protocol, origin } = new URL(url);
      return protocol === 'https:' ? 'https:' : origin;
    }),
  ),
];

/** Returns the Content-Security-Policy hash source that allows exactly this script or style. */
export const policyHash = ({ markup }: Html) => `'sha256-${createHash('sha256').update(markup).digest('base64')}'`;
