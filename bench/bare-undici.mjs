// Baseline for uploads: undici and BLAKE3 only, eight files at a time. No journal, no retries.
// `node bare-undici.mjs URL FILE...`
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Blake3Hasher } from '@napi-rs/blake-hash';
import { Agent, request, setGlobalDispatcher } from 'undici';

const chunkBytes = 50 * 1024 * 1024;
const blockBytes = 2 * 1024 * 1024;
const tus = { 'tus-resumable': '1.0.0', authorization: 'Bearer bench-key' };
const [url, ...files] = process.argv.slice(2);
setGlobalDispatcher(new Agent());

async function send(file, blocks) {
  const handle = await open(file);
  const { size } = await handle.stat();
  const hasher = new Blake3Hasher();
  let turn = 0;
  const read = async (at, end) => {
    const block = blocks[turn++ % blocks.length].subarray(0, Math.min(blockBytes, end - at));
    await handle.read(block, 0, block.length, at); // a short read would show in the digest
    hasher.update(block);
    return block;
  };
  async function* body(at, end) {
    for (let from = at; from < end; from += blockBytes) yield await read(from, end);
  }
  const creation = await request(`${url}/api/external/v1/upload/`, {
    method: 'POST',
    headers: {
      ...tus,
      'upload-length': size,
      'upload-metadata': `filename ${Buffer.from(basename(file)).toString('base64')}`,
    },
  });
  const { location } = await creation.body.json();
  let told;
  for (let at = 0; at < size; at += chunkBytes) {
    const end = Math.min(size, at + chunkBytes);
    const answer = await request(new URL(location, url), {
      method: 'PATCH',
      headers: {
        ...tus,
        'content-type': 'application/offset+octet-stream',
        'content-length': end - at,
        'upload-offset': at,
      },
      body: end - at <= blockBytes ? await read(at, end) : body(at, end),
    });
    await answer.body.dump();
    told = answer.headers['x-checksum-blake3'];
  }
  await handle.close();
  if (told !== hasher.digest('hex')) throw new Error(`${file} did not come as it is`);
}

async function worker() {
  const blocks = [0, 1].map(() => Buffer.allocUnsafeSlow(blockBytes));
  for (let file = files.shift(); file; file = files.shift()) await send(file, blocks);
}

await Promise.all(Array.from({ length: 8 }, worker));
