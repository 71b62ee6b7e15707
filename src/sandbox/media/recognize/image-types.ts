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

/** Content types of animated images, which are shown as they are, since a variant would be a still. */
export const animatedImageTypes = new Set(['image/gif', 'image/apng']);

/** Content types of images that browsers display. For other images, they display derived files. */
export const browserImageTypes = new Set([
  ...['image/jpeg', 'image/png', 'image/apng', 'image/gif', 'image/webp', 'image/avif'],
  ...['image/bmp', 'image/x-icon', 'image/svg+xml'],
]);
