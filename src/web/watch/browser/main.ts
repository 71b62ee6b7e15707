import { type PlayerSetup, type PositionReport, playerSetupId } from '../setup.ts';
import { fetchBlob } from './fetch-blob.ts';
import { showNote, showProblem } from './notices.ts';
import { PlaybackController } from './playback-controller.ts';
import { fitPicture, handleKeys, startInAddress } from './player-keys.ts';
import { Timeline } from './timeline.ts';

const maxSubtitleBytes = 16 * 1024 * 1024;
const reportIntervalMs = 5_000;

function main(): void {
  const setup = JSON.parse(document.getElementById(playerSetupId)?.textContent ?? '') as PlayerSetup;
  const media = document.querySelector<HTMLMediaElement>('video, audio');
  if (media) {
    const resumeAt = startInAddress(location) ?? setup.resumeAt;
    const playback = new PlaybackController(media, { ...setup, resumeAt });
    handleKeys(media, playback);
    fitPicture(media);
    connectChapters(media, playback);
    const timeline = document.getElementById('timeline');
    if (timeline) new Timeline(media, playback, timeline, setup);
    if (setup.position) reportPosition(media, setup.position);
    media.addEventListener('play', () => offerSubtitles(media, setup.subtitles ?? []), { once: true });
    playback.start();
  }
  if (setup.document) showDocument(setup.document);
  handleBrokenImages();
}

function connectChapters(media: HTMLMediaElement, playback: PlaybackController): void {
  const startOf = (button: HTMLButtonElement) => Number(button.dataset.seconds);
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('button[data-seconds]')];
  for (const button of buttons)
    button.addEventListener('click', () => {
      playback.moveTo(startOf(button));
      playback.play();
    });
  const mark = () => {
    // A seek might end slightly before the start of the chapter.
    const current = buttons.findLast((button) => startOf(button) <= playback.position + 0.05);
    for (const button of buttons) button.ariaCurrent = button === current ? 'true' : null;
  };
  for (const event of ['timeupdate', 'seeking']) media.addEventListener(event, mark);
}

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
      else showProblem('The image cannot be loaded. The link may have expired: ask for a new one.');
    };
    if (image.complete && image.naturalWidth === 0) onBroken();
    else image.addEventListener('error', onBroken, { once: true });
  }
}

/** Reports the playback position, throttled during playback, and immediately on pause, end and page close. */
function reportPosition(media: HTMLMediaElement, { url, playbackToken }: PositionReport) {
  let reported = Number.NaN;
  let reportedAt = 0;

  const report = () => {
    // Skips 0, because reporting it before playback starts would reset the saved position.
    const { currentTime } = media;
    if (currentTime === 0 || currentTime === reported) return;
    reported = currentTime;
    reportedAt = Date.now();
    send(url, { playback_token: playbackToken, position_seconds: currentTime }).then(
      () => showNote(''),
      () => showNote('Your playback position cannot be saved.'),
    );
  };
  const reportThrottled = () => {
    if (Date.now() - reportedAt >= reportIntervalMs) report();
  };

  for (const event of ['timeupdate', 'seeked']) media.addEventListener(event, reportThrottled);
  for (const event of ['pause', 'ended']) media.addEventListener(event, report);
  addEventListener('pagehide', report);
}

async function send(url: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    keepalive: true, // the page may be closing
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
}

/** Fetches subtitles as blobs, because a track from another origin would require CORS for the media, too. */
function offerSubtitles(media: HTMLMediaElement, subtitles: NonNullable<PlayerSetup['subtitles']>): void {
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

main();
