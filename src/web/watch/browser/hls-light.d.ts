/** hls.js declares its types for the whole library alone; the light build has fewer controllers. */
declare module 'hls.js/light' {
  export * from 'hls.js';
  export { default } from 'hls.js';
}
