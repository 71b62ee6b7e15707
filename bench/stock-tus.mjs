// The peer: stock tus-js-client as its documentation shows it. `node stock-tus.mjs URL FILE`
import { createReadStream, statSync } from 'node:fs';
import { Upload } from 'tus-js-client';

const [url, file] = process.argv.slice(2);
new Upload(createReadStream(file), {
  endpoint: `${url}/api/external/v1/upload/`,
  uploadSize: statSync(file).size,
  chunkSize: 50 * 1024 * 1024,
  metadata: { filename: 'big.bin' },
  onError: (error) => {
    throw error;
  },
}).start();
