/** Pictures that ffmpeg reads, by content type. */
export const imageDemuxers = new Map([
  ['image/jpeg', 'jpeg_pipe'],
  ['image/png', 'png_pipe'],
  ['image/webp', 'webp_pipe'],
  ['image/bmp', 'bmp_pipe'],
  ['image/tiff', 'tiff_pipe'],
  ['image/vnd.adobe.photoshop', 'psd_pipe'],
  ['image/jp2', 'j2k_pipe'],
  ['image/gif', 'gif'],
  ['image/apng', 'apng'],
]);

/** Kinds of images that move: a still shows less than they are. */
export const movingImages = new Set(['image/gif', 'image/apng']);

/** What browsers show as it is. Of other images only what is made of them is shown. */
export const shownByBrowsers = new Set([
  ...['image/jpeg', 'image/png', 'image/apng', 'image/gif', 'image/webp', 'image/avif'],
  ...['image/bmp', 'image/x-icon', 'image/svg+xml'],
]);
