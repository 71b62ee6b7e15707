import { formatClockTime } from '../../../shared/figures.ts';
import type { PlaybackController } from './playback-controller.ts';

/** A step of one frame in seconds. Browsers do not tell the frame rate; 25 is the least wrong for a library of clips. */
const frameSeconds = 1 / 25;
const rates = [0.25, 0.5, 1, 1.25, 1.5, 2];

/**
 * Plays by keys, as editors know them: K or Space, J and L, arrows, comma and period for a frame, < and > for the speed,
 * M, F, C. In a frame, Space and the arrows are those of the page around it, but for the arrows of the seek bar.
 */
export function handleKeys(media: HTMLMediaElement, playback: PlaybackController): void {
  const isFramed = window.parent !== window;
  const actions = actionsOf(media, playback);
  const movePage = (by: 1 | -1) => playback.moveTo(playback.position + (by * playback.duration) / 10);
  const sliderActions: Record<string, (() => void) | undefined> = {
    ...{ ArrowUp: actions.ArrowRight, ArrowDown: actions.ArrowLeft },
    ...{ PageUp: () => movePage(1), PageDown: () => movePage(-1) },
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    if (target.closest?.('input, textarea, select')) return;
    if (target.closest?.('button') && [' ', 'Enter'].includes(event.key)) return;
    const isSlider = Boolean(target.closest?.('[role=slider]'));
    if (isFramed && (event.key === ' ' || (!isSlider && ['ArrowLeft', 'ArrowRight'].includes(event.key)))) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = actions[key] ?? (isSlider ? sliderActions[key] : undefined);
    if (!action) return;
    event.preventDefault();
    action();
  });
  connectControls(media, playback, actions);
}

/** Shows the state of the player in its buttons, each of which does what its key does. */
function connectControls(media: HTMLMediaElement, playback: PlaybackController, actions: Record<string, () => void>) {
  const find = (action: string) => document.querySelector<HTMLButtonElement>(`[data-action=${action}]`);
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-action]'))
    button.addEventListener('click', () => actions[button.dataset.action ?? '']?.());
  const volume = document.querySelector<HTMLInputElement>('.controls input');
  const time = document.querySelector('.controls .time');
  const name = (button: HTMLButtonElement | null, label: string, isOn: boolean) => {
    if (!button) return;
    button.title = label;
    button.ariaLabel = label;
    button.classList.toggle('on', isOn);
  };
  const show = () => {
    name(find('k'), media.paused ? 'Play' : 'Pause', !media.paused);
    name(find('m'), media.muted ? 'Unmute' : 'Mute', media.muted);
    const shown = [...media.textTracks].find(({ mode }) => mode === 'showing');
    name(find('c'), shown ? `Subtitles: ${shown.label}` : 'Subtitles', shown !== undefined);
    const captions = find('c');
    if (captions) captions.hidden = media.textTracks.length === 0;
    if (volume) volume.valueAsNumber = media.muted ? 0 : media.volume;
    const { position, duration } = playback;
    if (time) time.textContent = [position, ...(duration ? [duration] : [])].map(formatClockTime).join(' / ');
  };
  for (const event of ['play', 'pause', 'volumechange', 'timeupdate', 'seeking', 'durationchange', 'emptied'])
    media.addEventListener(event, show);
  for (const event of ['addtrack', 'change']) media.textTracks.addEventListener(event, show);
  volume?.addEventListener('input', () => {
    media.volume = volume.valueAsNumber;
    media.muted = false;
  });
  media.addEventListener('click', () => actions.k?.());
  media.addEventListener('dblclick', () => actions.f?.());
  show();
}

function actionsOf(media: HTMLMediaElement, playback: PlaybackController): Record<string, () => void> {
  const seekBy = (seconds: number) => playback.moveTo(playback.position + seconds);
  const stepFrame = (by: 1 | -1) => {
    media.pause();
    seekBy(by * frameSeconds);
  };
  const changeRate = (by: 1 | -1) => {
    const at = rates.findIndex((rate) => rate >= media.playbackRate);
    media.playbackRate = rates[Math.min(rates.length - 1, Math.max(0, at + by))] ?? 1;
  };
  const toggle = () => {
    if (media.paused) playback.play();
    else media.pause();
  };
  /** Shows the next subtitles, and none after the last. */
  const toggleCaptions = () => {
    const tracks = [...media.textTracks];
    const next = tracks[tracks.findIndex(({ mode }) => mode === 'showing') + 1];
    for (const track of tracks) track.mode = track === next ? 'showing' : 'hidden';
  };
  const toggleFullScreen = () =>
    void (document.fullscreenElement
      ? document.exitFullscreen()
      : (media.closest('.screen') ?? media).requestFullscreen());
  return {
    ...{ ' ': toggle, k: toggle, j: () => seekBy(-10), l: () => seekBy(10) },
    ...{ ArrowLeft: () => seekBy(-5), ArrowRight: () => seekBy(5), ',': () => stepFrame(-1), '.': () => stepFrame(1) },
    ...{ '<': () => changeRate(-1), '>': () => changeRate(1), f: toggleFullScreen, c: toggleCaptions },
    m: () => {
      media.muted = !media.muted;
    },
    Home: () => playback.moveTo(0),
    End: () => playback.moveTo(playback.duration),
  };
}

/** Returns the position in seconds that an address names, such as `?t=75` or `#t=1m15s`; undefined if it names none. */
export function startInAddress({ search, hash }: Pick<Location, 'search' | 'hash'>): number | undefined {
  const typed = new URLSearchParams(search).get('t') ?? /^#t=(.+)/.exec(hash)?.[1] ?? '';
  const [, hours = 0, minutes = 0, seconds = 0] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/.exec(typed) ?? [];
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return typed === '' || Number.isNaN(total) ? undefined : total;
}

/** Gives the player the shape of its picture, so that a portrait video stands between no bars: first of its poster. */
export function fitPicture(media: HTMLMediaElement): void {
  if (!(media instanceof HTMLVideoElement)) return;
  const setShape = (width: number, height: number) => {
    if (width === 0) return;
    media.style.setProperty('aspect-ratio', `${width} / ${height}`);
    // The seek bar is as wide. The style sheet says how high the picture may be.
    const screen = media.closest<HTMLElement>('.screen') ?? media;
    screen.style.setProperty('width', `min(100%, calc(var(--tall) * ${width / height}))`);
  };
  media.addEventListener('loadedmetadata', () => setShape(media.videoWidth, media.videoHeight));
  if (!media.poster) return;
  const poster = new Image();
  poster.addEventListener('load', () => {
    if (media.videoWidth === 0) setShape(poster.naturalWidth, poster.naturalHeight);
  });
  poster.src = media.poster;
}
