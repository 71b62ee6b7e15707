// A service of its own process that takes bytes and drops them: what a client can reach at best.
// `node sink.mjs SIZE BLAKE3`; prints its port. Answers the last PATCH with the digest it was told,
// so that a client's own is checked without costing the sink a core.
import { createServer } from 'node:http';

const [size, blake3] = [Number(process.argv[2]), process.argv[3]];
const sessions = new Map();
let created = 0;

createServer((request, response) => {
  const id = request.url.split('/').filter(Boolean).at(-1);
  if (request.method === 'POST') {
    const session = `session${++created}`;
    sessions.set(session, 0);
    const location = `/api/external/v1/upload/${session}/`;
    response.writeHead(201, {
      location,
      'tus-resumable': '1.0.0',
      'content-type': 'application/json',
    });
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const asset_uid = '00000000-0000-4000-8000-000000000001';
    response.end(
      JSON.stringify({ uid: session, location, asset_uid, total_size: size, expires_at }),
    );
    return;
  }
  let received = 0;
  request.on('data', (chunk) => {
    received += chunk.length;
  });
  request.on('end', () => {
    const offset = (sessions.get(id) ?? 0) + received;
    sessions.set(id, offset);
    response.writeHead(204, {
      'tus-resumable': '1.0.0',
      'upload-offset': offset,
      ...(request.method === 'HEAD' && { 'upload-length': size }),
      ...(offset === size && { 'x-checksum-blake3': blake3 }),
    });
    response.end();
  });
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`${this.address().port}\n`);
});
