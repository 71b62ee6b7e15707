import { type Html, html } from '../shared/html.ts';
import type { MediaUrl } from '../shared/media-url.ts';

/**
 * The page's own seek bar, which the script brings to life. Hidden until the duration is known, and for
 * good where there is no script. Of a sound that has a waveform it is as tall as that from the first.
 */
export const timeline = (waveform?: MediaUrl): Html =>
  html`<div id="timeline"${waveform && html` class="tall"`} role="slider" tabindex="0" aria-label="Seek" aria-valuemin="0" aria-valuemax="0" aria-valuenow="0" hidden>
<canvas></canvas><div class="bar"></div><div class="played"></div><div class="ticks"></div>
<div class="bubble" hidden><div class="sprite" hidden></div><time></time> <span></span></div>
</div>`;
