import { type PlayerSetup, playerSetupId } from '../setup.ts';
import { showProblem } from './notices.ts';
import { PlaybackController } from './playback-controller.ts';
import { reportPosition } from './position.ts';
import { offerSubtitles } from './subtitles.ts';
import { Timeline } from './timeline.ts';

/** Runs the watch page's script, which adds behavior to the rendered markup. */
function main(): void {
  const setup = JSON.parse(document.getElementById(playerSetupId)?.textContent ?? '') as PlayerSetup;
  const media = document.querySelector<HTMLMediaElement>('video, audio');
  if (media) {
    const playback = new PlaybackController(media, setup);
    connectChapters(media, (seconds) => playback.seek(seconds));
    const timeline = document.getElementById('timeline');
    if (timeline) new Timeline(media, timeline, setup);
    if (setup.position) reportPosition(media, setup.position);
    if (setup.subtitles?.length) offerSubtitles(media, setup.subtitles);
    playback.start();
  }
  if (setup.document) showDocument(setup.document);
  handleBrokenImages();
}

/** Makes the buttons of the chapters seek, and marks that of the current chapter. */
function connectChapters(media: HTMLMediaElement, seek: (seconds: number) => void): void {
  const startOf = (button: HTMLButtonElement) => Number(button.dataset.seconds);
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('button[data-seconds]')];
  for (const button of buttons) button.addEventListener('click', () => seek(startOf(button)));
  const mark = () => {
    // A seek might end slightly before the start of the chapter.
    const current = buttons.findLast((button) => startOf(button) <= media.currentTime + 0.05);
    for (const button of buttons) button.ariaCurrent = button === current ? 'true' : null;
  };
  for (const event of ['timeupdate', 'seeking']) media.addEventListener(event, mark);
}

/** Embeds a document in a frame if the browser can display it. Otherwise, the page shows only a link to it. */
function showDocument({ url, contentType, title }: NonNullable<PlayerSetup['document']>): void {
  const isPdf = contentType === 'application/pdf';
  const isText = contentType.startsWith('text/');
  if (!(isPdf && navigator.pdfViewerEnabled) && !isText) return;
  const frame = document.createElement('iframe');
  if (isText) frame.setAttribute('sandbox', ''); // PDF viewers do not work in a sandbox
  frame.className = 'frame page';
  frame.title = title;
  frame.src = url;
  document.getElementById('document')?.append(frame);
}

/** Removes broken posters and thumbnails. If the asset's own image is broken, shows an error instead. */
function handleBrokenImages(): void {
  for (const image of document.querySelectorAll<HTMLImageElement>('img')) {
    const isAsset = image.classList.contains('picture') && image.alt !== '';
    const onBroken = () => {
      if (!isAsset) image.remove();
      else showProblem('The picture cannot be loaded. Its link may have expired: ask for a new one.');
    };
    if (image.complete && image.naturalWidth === 0) onBroken();
    else image.addEventListener('error', onBroken, { once: true });
  }
}

main();
