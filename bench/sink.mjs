// A service of its own process that takes bytes and drops them: what a client can reach at best.
// `node sink.mjs DIGESTS`, a JSON file of the BLAKE3 by file name; prints its port. Answers the last
// PATCH with the digest it was told, so that a client's own is checked without costing the sink a core.
// GET tells what came since it was last asked.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const digests = JSON.parse(readFileSync(process.argv[2], 'utf8'));
/** By the file's name, which is the session's too: who has made it knows where its bytes go. */
const sessions = new Map();
let created = 0;
let told = { requests: 0, bytes: 0 };
let cpu = process.cpuUsage();

/** A budget that is never spent, for the client's own care of it. */
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
      ...{ uid: name, location, total_size: size },
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
