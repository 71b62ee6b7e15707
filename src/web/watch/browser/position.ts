import type { PositionReport } from '../setup.ts';
import { note } from './telling.ts';

const everyMs = 5_000;

/** Tells the service how far somebody is: now and then, at a pause, at the end, when they leave. */
export function reportPosition(media: HTMLMediaElement, { url, playbackToken }: PositionReport) {
  let reported = Number.NaN;
  let toldAt = 0;

  const report = () => {
    // Before anything has moved there is nothing to tell, and 0 would forget where they were.
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
    keepalive: true, // it may be the last thing that the page does
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
}
