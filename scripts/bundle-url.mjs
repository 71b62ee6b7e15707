// Provides the URL of a bundle to bundled packages that read `import.meta.url`. esbuild runs it before every file, so that it
// finds the URL only when one is read.
import { pathToFileURL } from 'node:url';

export const bundle = {
  get url() {
    return pathToFileURL(__filename).href;
  },
};
