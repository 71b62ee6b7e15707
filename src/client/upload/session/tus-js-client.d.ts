declare module 'tus-js-client/lib.esm/upload.js' {
  import type { Upload, UploadOptions } from 'tus-js-client';

  const BaseUpload: typeof Upload & { defaultOptions: UploadOptions };
  export default BaseUpload;
}
