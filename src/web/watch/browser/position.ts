import type { PositionReport } from '../setup.ts';
import { showNote } from './notices.ts';

const reportIntervalMs = 5_000;

/** Reports the playback position, throttled during playback, and immediately on pause, end and page close. */
export function reportPosition(media: HTMLMediaElement, { url, playbackToken }: PositionReport) {
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
      () => showNote('Where you are is not kept: the service does not take it.'),
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
