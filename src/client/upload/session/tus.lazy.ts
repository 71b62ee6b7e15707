// The protocol of tus-js-client without its Node part, which patches `fs` and adds listeners to the process.
export { default as TusUpload } from 'tus-js-client/lib.esm/upload.js';
