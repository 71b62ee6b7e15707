import { parseJsonOrUndefined } from '../../../contract/json-values.ts';
import { fetchBlob } from './fetch-blob.ts';
import { downsamplePeaks, parsePeaks } from './peaks.ts';

const maxBytes = 1024 * 1024;
/** Widths of a bar and of the gap after it, in CSS pixels. */
const [barWidth, gapWidth] = [2, 1];

/** Audio waveform in the timeline. If it cannot be loaded, the timeline is a plain bar. */
export class Waveform {
  readonly #timeline: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  #peaks: readonly number[] = [];
  /** Fraction of the media that has been played, 0 to 1. */
  #played = 0;

  constructor(timeline: HTMLElement, url: string) {
    this.#timeline = timeline;
    this.#canvas = timeline.querySelector('canvas') as HTMLCanvasElement;
    this.#load(url).catch(() => timeline.classList.remove('tall'));
    new ResizeObserver(() => this.#draw()).observe(this.#canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
  }

  showPlayed(fraction: number): void {
    this.#played = fraction;
    this.#draw();
  }

  async #load(url: string): Promise<void> {
    const content = await fetchIfReadable(url);
    if (content === undefined) return this.#showImage(url);
    if (content.type.startsWith('image/')) return this.#showImage(URL.createObjectURL(content));
    const peaks = parsePeaks(parseJsonOrUndefined(await content.text()));
    if (!peaks) throw new Error('no waveform that is known here');
    this.#peaks = peaks;
    this.#timeline.classList.add('drawn');
    this.#draw();
  }

  async #showImage(url: string): Promise<void> {
    const image = new Image();
    image.src = url;
    await image.decode();
    this.#timeline.style.backgroundImage = `url(${JSON.stringify(url)})`;
    this.#timeline.classList.add('pictured');
  }

  #draw(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    const context = this.#canvas.getContext('2d');
    if (this.#peaks.length === 0 || clientWidth === 0 || !context) return;
    // Resizes on each draw, because the window might move to a screen with another pixel ratio. Also clears it.
    this.#canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.#canvas.height = Math.round(clientHeight * devicePixelRatio);
    context.scale(devicePixelRatio, devicePixelRatio);
    const played = this.#timeline.querySelector('.played') as HTMLElement;
    const [quiet, accent] = [this.#timeline, played].map((each) => getComputedStyle(each).color);
    const step = barWidth + gapWidth;
    const bars = downsamplePeaks(this.#peaks, Math.max(1, Math.floor(clientWidth / step)));
    for (const [at, peak] of bars.entries()) {
      const height = Math.max(1, peak * clientHeight);
      context.fillStyle = ((at + 0.5) / bars.length < this.#played ? accent : quiet) as string;
      context.fillRect(at * step, (clientHeight - height) / 2, barWidth, height);
    }
  }
}

/** Fetches the waveform; undefined if CORS blocks the request, because it might still load as an image. */
async function fetchIfReadable(url: string): Promise<Blob | undefined> {
  try {
    return (await fetchBlob(url, maxBytes)).content;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
