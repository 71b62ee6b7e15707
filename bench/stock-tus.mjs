// Contender: stock tus-js-client, used as in its documentation, eight files at a time.
// `node stock-tus.mjs URL FILE...`
import { createReadStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { Upload } from 'tus-js-client';

const [url, ...files] = process.argv.slice(2);

function next() {
  const file = files.shift();
  if (file === undefined) return;
  new Upload(createReadStream(file), {
    endpoint: `${url}/api/external/v1/upload/`,
    uploadSize: statSync(file).size,
    chunkSize: 50 * 1024 * 1024,
    metadata: { filename: basename(file) },
    onError: (error) => {
      throw error;
    },
    onSuccess: next,
  }).start();
}

for (let each = 0; each < 8; each++) next();
