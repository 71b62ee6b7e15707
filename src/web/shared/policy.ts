import { createHash } from 'node:crypto';
import type { Html } from './html.ts';
import type { MediaUrl } from './media-url.ts';

/** What a page loads, each by the directive that it falls under. */
export type Loads = {
  script?: Html | undefined;
  style: Html;
  /** Images: posters, variants, thumbnails. */
  images?: readonly MediaUrl[];
  /** What `<video>` or `<audio>` plays by itself. */
  media?: readonly MediaUrl[];
  /** What hls.js fetches; it feeds the element from a blob. */
  streams?: readonly MediaUrl[];
  /** Subtitles: fetched, then given to the element from a blob. */
  texts?: readonly MediaUrl[];
  /** Fetched, and drawn, or shown from a blob; a picture may be kept from scripts. */
  waveforms?: readonly MediaUrl[];
  /** Cues, which are fetched, and name sheets of frames beside them. */
  sprites?: readonly MediaUrl[];
  frames?: readonly MediaUrl[];
  /** Where the page tells its position: its own origin. */
  tellsItself?: boolean;
};

/**
 * The Content-Security-Policy of a page: nothing but its own script and style, by hash, and the
 * media that it is of.
 */
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
 * The origin of an http URL, which is a service on this machine. An https one may redirect, or name
 * segments on other hosts: any that is https.
 */
const sources = (urls: readonly MediaUrl[]) => [
  ...new Set(
    urls.map(({ url }) => {
      const { protocol, origin } = new URL(url);
      return protocol === 'https:' ? 'https:' : origin;
    }),
  ),
];

/** By which a policy lets in one script or style and no other. */
export const hashOf = ({ markup }: Html) =>
  `'sha256-${createHash('sha256').update(markup).digest('base64')}'`;
