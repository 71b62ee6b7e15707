/** Types for the light build of hls.js, because hls.js declares types only for its full build. */
declare module 'hls.js/light' {
  export * from 'hls.js';
  export { default } from 'hls.js';
}

interface Window {
  /** Set by hls.js, once it has loaded. */
  Hls?: typeof import('hls.js').default;
}
