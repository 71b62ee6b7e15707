/** Preview frame of a video: its time range in seconds, and its rectangle in a sprite sheet in pixels. */
export type Sprite = { start: number; end: number; url: string; x: number; y: number; width: number; height: number };

const maxCues = 10_000;

const timePattern = String.raw`(?:(\d{1,4}):)?(\d{2}):(\d{2}\.\d{3})`;
const timing = new RegExp(String.raw`^\s*${timePattern}\s+-->\s+${timePattern}(?:\s|$)`);
/** Spatial fragment of a URL (Media Fragments URI 1.0 §4.2.2). */
const spriteReference = /^([^\s<>"#]+)#xywh=(?:pixel:)?(\d{1,6}),(\d{1,6}),(\d{1,6}),(\d{1,6})$/;

/**
 * Parses the sprite cues of a WebVTT file and sorts them by start time. Skips cues whose sheet the page's
 * Content-Security-Policy would block.
 */
export function parseSprites(text: string, baseUrl: string): Sprite[] {
  const lines = text.split(/\r\n|\n|\r/);
  const sprites: Sprite[] = [];
  for (let at = 0; at + 1 < lines.length && sprites.length < maxCues; at++) {
    const times = timing.exec(lines[at] as string);
    const reference = times && spriteReference.exec((lines[at + 1] as string).trim());
    const url = reference && sheetUrl(reference[1] as string, baseUrl);
    if (!times || !reference || !url) continue;
    const [start, end] = [seconds(times.slice(1, 4)), seconds(times.slice(4, 7))];
    const [x = 0, y = 0, width = 0, height = 0] = reference.slice(2).map(Number);
    if (end > start && width > 0 && height > 0) sprites.push({ start, end, url, x, y, width, height });
  }
  return sprites.sort((a, b) => a.start - b.start);
}

const seconds = ([hours = '0', minutes, rest]: (string | undefined)[]) =>
  Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);

/** Resolves a sprite sheet URL: any https URL for an https file, and one of the same origin for an http file. */
function sheetUrl(reference: string, baseUrl: string): string | undefined {
  if (!URL.canParse(reference, baseUrl)) return undefined;
  const [url, { protocol, origin }] = [new URL(reference, baseUrl), new URL(baseUrl)];
  const isAllowed = protocol === 'https:' ? url.protocol === protocol : protocol === 'http:' && url.origin === origin;
  return isAllowed ? url.href : undefined;
}
