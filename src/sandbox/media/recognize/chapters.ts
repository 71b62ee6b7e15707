/** A chapter as in playback info (§2); `start_time` is in seconds. */
export type MediaChapter = { title: string; start_time: number };

/**
 * Parses the `chpl` box (Nero chapters) of an MP4 file. It contains a version, flags, four more bytes in version 1,
 * and a count. For each chapter follow its start in units of 100 ns, the length of its title, and the title.
 */
export function parseNeroChapters(box: Uint8Array): MediaChapter[] {
  const view = new DataView(box.buffer, box.byteOffset, box.byteLength);
  const chapters: MediaChapter[] = [];
  let at = view.byteLength > 8 && view.getUint8(0) === 1 ? 8 : 4;
  const count = at < view.byteLength ? view.getUint8(at++) : 0;
  for (let n = 0; n < count && at + 9 <= view.byteLength; n++) {
    const start_time = Number(view.getBigUint64(at)) / 1e7;
    const length = view.getUint8(at + 8);
    const title = new TextDecoder().decode(box.subarray(at + 9, at + 9 + length));
    chapters.push({ title, start_time });
    at += 9 + length;
  }
  return chapters;
}
