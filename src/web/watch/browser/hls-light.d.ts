/** Types of the light build: hls.js declares them for the full build only. */
declare module 'hls.js/light' {
  export * from 'hls.js';
  export { default } from 'hls.js';
}
