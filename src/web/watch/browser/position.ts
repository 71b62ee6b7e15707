import type { PositionReport } from '../setup.ts';
import { note } from './telling.ts';

const everyMs = 5_000;

/** Reports the playback position: throttled while playing, and on pause, end and page close. */
export function reportPosition(media: HTMLMediaElement, { url, playbackToken }: PositionReport) {
  let reported = Number.NaN;
  let toldAt = 0;

  const report = () => {
    // Skips 0: before playback starts it would reset the saved position.
    const { currentTime } = media;
    if (currentTime === 0 || currentTime === reported) return;
    reported = currentTime;
    toldAt = Date.now();
    send(url, { playback_token: playbackToken, position_seconds: currentTime }).then(
      () => note(''),
      () => note('Where you are is not kept: the service does not take it.'),
    );
  };
  const reportNowAndThen = () => {
    if (Date.now() - toldAt >= everyMs) report();
  };

  for (const event of ['timeupdate', 'seeked']) media.addEventListener(event, reportNowAndThen);
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
