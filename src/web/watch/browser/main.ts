import { type Setup, setupId } from '../setup.ts';
import { Chapters } from './chapters.ts';
import { showDocument } from './document.ts';
import { Playback } from './playback.ts';
import { reportPosition } from './position.ts';
import { offerSubtitles } from './subtitles.ts';
import { tell } from './telling.ts';
import { Timeline } from './timeline.ts';

/** Entry point of the watch page's script: binds behavior to the rendered markup. */
function main(): void {
  const setup = JSON.parse(document.getElementById(setupId)?.textContent ?? '') as Setup;
  const media = document.querySelector<HTMLMediaElement>('video, audio');
  if (media) {
    const playback = new Playback(media, setup);
    new Chapters(media, (seconds) => playback.goTo(seconds));
    const timeline = document.getElementById('timeline');
    if (timeline) new Timeline(media, timeline, setup);
    if (setup.position) reportPosition(media, setup.position);
    if (setup.subtitles?.length) offerSubtitles(media, setup.subtitles);
    playback.begin();
  }
  if (setup.document) showDocument(setup.document);
  watchPictures();
}

/** Removes broken posters and thumbnails; shows an error if the asset's own image is broken. */
function watchPictures(): void {
  const whenBroken = (image: HTMLImageElement, then: () => void) => {
    if (image.complete && image.naturalWidth === 0) then();
    else image.addEventListener('error', then, { once: true });
  };
  for (const image of document.querySelectorAll<HTMLImageElement>('img')) {
    const isAsset = image.classList.contains('picture') && image.alt !== '';
    whenBroken(image, () =>
      isAsset
        ? tell('The picture cannot be loaded. Its link may have expired: ask for a new one.')
        : image.remove(),
    );
  }
}

main();
