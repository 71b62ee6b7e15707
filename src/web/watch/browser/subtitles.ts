import type { PlayerSetup } from '../setup.ts';
import { fetchBlob } from './fetch-blob.ts';
import { showNote } from './notices.ts';

const maxSubtitleBytes = 16 * 1024 * 1024;

type Subtitles = NonNullable<PlayerSetup['subtitles']>;

/**
 * Adds subtitles. Video lists them in its menu; audio shows them below the player. Fetches them as blobs, because a
 * track from another origin would require CORS for the media, too.
 */
export function offerSubtitles(media: HTMLMediaElement, subtitles: Subtitles): void {
  const captions = document.getElementById('captions');
  for (const { url, label, language } of subtitles)
    fetchBlob(url, maxSubtitleBytes).then(
      ({ content }) => {
        const track = document.createElement('track');
        track.kind = 'subtitles';
        track.label = label;
        track.srclang = language;
        track.src = URL.createObjectURL(new Blob([content], { type: 'text/vtt' }));
        media.append(track);
        if (captions) addCaptionToggle(track, captions);
      },
      () => showNote(`The subtitles "${label}" cannot be loaded.`),
    );
}

/** Adds a button that turns a subtitle track of the audio player on or off. At most one track is on. */
function addCaptionToggle({ track, label }: HTMLTrackElement, captions: HTMLElement): void {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = label;
  button.setAttribute('aria-pressed', 'false');
  track.mode = 'disabled';
  button.addEventListener('click', () => {
    const isOn = button.getAttribute('aria-pressed') === 'true';
    for (const other of captions.parentElement?.querySelectorAll('button[aria-pressed=true]') ?? [])
      if (other !== button) (other as HTMLButtonElement).click();
    button.setAttribute('aria-pressed', String(!isOn));
    track.mode = isOn ? 'disabled' : 'hidden';
    captions.textContent = '';
  });
  track.addEventListener('cuechange', () => {
    captions.textContent = [...(track.activeCues ?? [])]
      .map((cue) => (cue as VTTCue).getCueAsHTML().textContent)
      .join('\n');
  });
  captions.before(button);
}
