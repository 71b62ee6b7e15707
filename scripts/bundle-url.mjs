// Where a bundle is, for packages in it that ask by `import.meta.url`; only their files carry it.
import { pathToFileURL } from 'node:url';

export const bundleUrl = pathToFileURL(__filename).href;
