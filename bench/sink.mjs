// A service in a separate process that receives bytes and discards them: the upper bound for a client.
// `node sink.mjs DIGESTS`, a JSON file of the BLAKE3 by file name; prints its port. Responds to the last
// PATCH with the digest from that file, so that clients verify theirs without costing the sink CPU time.
// GET returns the statistics since the previous GET.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const digests = JSON.parse(readFileSync(process.argv[2], 'utf8'));
/** Sessions by file name, which is also the session id, so that clients can derive the URL. */
const sessions = new Map();
let created = 0;
let told = { requests: 0, bytes: 0 };
let cpu = process.cpuUsage();

/** Rate limit headers of a limit that is never reached, to exercise the client's handling of them. */
const budget = () => ({
  'tus-resumable': '1.0.0',
  'x-ratelimit-limit': 1_000_000,
  'x-ratelimit-remaining': 999_000,
  'x-ratelimit-reset': Math.ceil(Date.now() / 1000) + 60,
});

function create(request, response) {
  const [, encoded = ''] = /(?:^|,) *filename ([^ ,]+)/.exec(request.headers['upload-metadata']);
  const name = Buffer.from(encoded, 'base64').toString();
  const size = Number(request.headers['upload-length']);
  sessions.set(name, { size, offset: 0, blake3: digests[name] });
  const location = `/api/external/v1/upload/${name}`;
  response.writeHead(201, { ...budget(), location, 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      uid: name,
      location,
      total_size: size,
      asset_uid: `00000000-0000-4000-8000-${String(++created).padStart(12, '0')}`,
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    }),
  );
}

function take(request, response) {
  const session = sessions.get(request.url.split('/').at(-1)) ?? { offset: 0 };
  const { 'upload-offset': at = session.offset } = request.headers;
  const isInTurn = Number(at) === session.offset;
  let received = 0;
  request.on('data', (chunk) => {
    received += chunk.length;
  });
  request.on('end', () => {
    told.bytes += received;
    if (isInTurn) session.offset += received;
    response.writeHead(isInTurn || request.method === 'HEAD' ? 204 : 409, {
      ...budget(),
      'upload-offset': session.offset,
      ...(request.method === 'HEAD' && { 'upload-length': session.size }),
      ...(session.offset === session.size && { 'x-checksum-blake3': session.blake3 }),
    });
    response.end();
  });
}

function tell(response) {
  const { user, system } = process.cpuUsage(cpu);
  response.end(JSON.stringify({ ...told, cpuSeconds: (user + system) / 1e6 }));
  told = { requests: 0, bytes: 0 };
  cpu = process.cpuUsage();
}

createServer((request, response) => {
  if (request.method === 'GET') return tell(response);
  told.requests++;
  return request.method === 'POST' ? create(request, response) : take(request, response);
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`${this.address().port}\n`);
});
