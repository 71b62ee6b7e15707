import { type PlayerSetup, playerSetupId } from '../setup.ts';
import { Chapters } from './chapters.ts';
import { showDocument } from './document.ts';
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
    new Chapters(media, (seconds) => playback.seek(seconds));
    const timeline = document.getElementById('timeline');
    if (timeline) new Timeline(media, timeline, setup);
    if (setup.position) reportPosition(media, setup.position);
    if (setup.subtitles?.length) offerSubtitles(media, setup.subtitles);
    playback.start();
  }
  if (setup.document) showDocument(setup.document);
  handleBrokenImages();
}

/** Removes broken posters and thumbnails. If the asset's own image is broken, shows an error instead. */
function handleBrokenImages(): void {
  const onBroken = (image: HTMLImageElement, then: () => void) => {
    if (image.complete && image.naturalWidth === 0) then();
    else image.addEventListener('error', then, { once: true });
  };
  for (const image of document.querySelectorAll<HTMLImageElement>('img')) {
    const isAsset = image.classList.contains('picture') && image.alt !== '';
    onBroken(image, () =>
      isAsset
        ? showProblem('The picture cannot be loaded. Its link may have expired: ask for a new one.')
        : image.remove(),
    );
  }
}

main();
