import { parseJsonOrUndefined } from '../../../shared/json-values.ts';
import { fetchBlob } from './fetch-blob.ts';
import { downsamplePeaks, parsePeaks } from './peaks.ts';

const maxBytes = 1024 * 1024;
/** Widths of a bar and of the gap after it, in CSS pixels. */
const [barWidth, gapWidth] = [2, 1];

/** Shows an audio waveform. Returns a function that shows which fraction of the media has been played, 0 to 1. */
export function showWaveform(timeline: HTMLElement, url: string): (played: number) => void {
  const canvas = timeline.querySelector('canvas') as HTMLCanvasElement;
  let peaks: readonly number[] = [];
  let playedFraction = 0;
  const draw = () => {
    if (peaks.length > 0) drawPeaks(timeline, canvas, peaks, playedFraction);
  };
  fetchWaveform(url).then(
    (waveform) => {
      timeline.classList.add(waveform instanceof HTMLImageElement ? 'pictured' : 'drawn');
      if (waveform instanceof HTMLImageElement) timeline.style.backgroundImage = `url(${JSON.stringify(waveform.src)})`;
      else peaks = waveform;
      draw();
    },
    () => timeline.classList.remove('tall'),
  );
  new ResizeObserver(draw).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  return (played) => {
    playedFraction = played;
    draw();
  };
}

/** Fetches the peaks or the image of a waveform. If CORS blocks the request, it might still load as an image. */
async function fetchWaveform(url: string): Promise<readonly number[] | HTMLImageElement> {
  const content = await fetchBlob(url, maxBytes).then(
    (fetched) => fetched.content,
    (error) => {
      if (!(error instanceof TypeError)) throw error;
    },
  );
  if (content && !content.type.startsWith('image/')) {
    const peaks = parsePeaks(parseJsonOrUndefined(await content.text()));
    if (!peaks) throw new Error('unknown waveform format');
    return peaks;
  }
  const image = new Image();
  image.src = content ? URL.createObjectURL(content) : url;
  await image.decode();
  return image;
}

function drawPeaks(timeline: HTMLElement, canvas: HTMLCanvasElement, peaks: readonly number[], played: number): void {
  const { clientWidth, clientHeight } = canvas;
  const context = canvas.getContext('2d');
  if (clientWidth === 0 || !context) return;
  // Resizes on each draw, because the window might move to a screen with another pixel ratio. Also clears it.
  canvas.width = Math.round(clientWidth * devicePixelRatio);
  canvas.height = Math.round(clientHeight * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  const playedBar = timeline.querySelector('.played') as HTMLElement;
  const [quiet, accent] = [timeline, playedBar].map((each) => getComputedStyle(each).color);
  const step = barWidth + gapWidth;
  const bars = downsamplePeaks(peaks, Math.max(1, Math.floor(clientWidth / step)));
  for (const [at, peak] of bars.entries()) {
    const height = Math.max(1, peak * clientHeight);
    context.fillStyle = ((at + 0.5) / bars.length < played ? accent : quiet) as string;
    context.fillRect(at * step, (clientHeight - height) / 2, barWidth, height);
  }
}
