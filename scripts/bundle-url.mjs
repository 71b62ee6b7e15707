// Provides the URL of a bundle to bundled packages that read `import.meta.url`; injected into their files only.
import { pathToFileURL } from 'node:url';

export const bundleUrl = pathToFileURL(__filename).href;
