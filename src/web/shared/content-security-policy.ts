import type { PlayerSetup } from '../watch/setup.ts';
import type { MediaUrl } from './media-url.ts';
import type { PageFile } from './page-files.ts';

type MediaUrls = readonly (MediaUrl | undefined)[];

export type PageResources = {
  scripts?: readonly PageFile[] | undefined;
  style: PageFile;
  /** True, the default, if the document contains its style. */
  isInline?: boolean;
  images?: MediaUrls | undefined;
  frames?: MediaUrls | undefined;
  /** Configuration of the player script, which loads the media in it. */
  player?: Partial<PlayerSetup> | undefined;
};

/** Builds the Content-Security-Policy of a page. Allows its scripts by hash, and its resources by source. */
export function buildPolicy(resources: PageResources): string {
  const { scripts = [], style, isInline = true, images = [], frames = [], player = {} } = resources;
  const { hls, file, subtitles = [], waveform, sprites, position } = player;
  // hls.js plays a stream, and a track has its subtitles, from a blob URL.
  const mediaBlobs = hls || subtitles.length > 0 ? ['blob:'] : [];
  // If CORS blocks the fetch of a waveform, the page loads it as an image. Sprite cues refer to images.
  const imageSources = ['data:', ...policySources([...images, waveform, sprites]), ...(waveform ? ['blob:'] : [])];
  const fetched = policySources([hls, ...subtitles, waveform, sprites]);
  const directives: [string, readonly string[]][] = [
    ['default-src', []],
    ['script-src', scripts.map(policyHash)],
    ['style-src', [styleSource(style, isInline)]],
    ['img-src', imageSources],
    ['media-src', [...policySources([file, hls]), ...mediaBlobs]],
    ['connect-src', [...fetched, ...(position ? ["'self'"] : [])]],
    ['frame-src', policySources(frames)],
    ['base-uri', []],
    ['form-action', []],
  ];
  return directives.map(([name, values]) => `${name} ${values.length > 0 ? values.join(' ') : "'none'"}`).join('; ');
}

/**
 * Returns the sources for media URLs. An https URL allows every https host, because it might redirect or refer to
 * another host. An http URL belongs to a local service, so it allows only its own origin.
 */
const policySources = (urls: MediaUrls) => [
  ...new Set(
    urls.flatMap((media) => {
      if (!media) return [];
      const { protocol, origin } = new URL(media.url);
      return protocol === 'https:' ? 'https:' : origin;
    }),
  ),
];

/** Returns the source that allows a script, in the document or at its URL. */
export const policyHash = ({ hash }: PageFile) => `'${hash}'`;

/** Returns the source that allows a style sheet. A hash allows only one in the document, not one at a URL. */
const styleSource = (style: PageFile, isInline: boolean) => (isInline ? policyHash(style) : "'self'");
