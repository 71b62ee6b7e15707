import { type Html, html } from '../shared/html.ts';
import type { MediaUrl } from '../shared/media-url.ts';

/**
 * Renders the seek bar, which is hidden until the script knows the duration. With a waveform, the bar has its final
 * height from the start, which avoids a layout shift.
 */
export const renderTimeline = (waveform?: MediaUrl): Html =>
  html`<div id="timeline"${waveform && html` class="tall"`} role="slider" tabindex="0" aria-label="Seek" aria-valuemin="0" aria-valuemax="0" aria-valuenow="0" hidden>
<canvas></canvas><div class="bar"></div><div class="played"></div><div class="ticks"></div>
<div class="bubble" hidden><div class="sprite" hidden></div><time></time> <span></span></div>
</div>`;
