import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { Transform, type Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import packageJson from '../package.json' with { type: 'json' };
import { Roots } from './roots.ts';
import { createServer } from './server.ts';

const usage = `Usage: mediactl-mcp [--root DIRECTORY]... [--allow-writes] [--profile NAME] [--workspace WORKSPACE]

Serves a media library to an agent by the Model Context Protocol, over stdin and stdout.

  --root DIRECTORY       files below it may be uploaded; may be repeated
  --allow-writes         allow uploads and changes; by default the server only reads
  --profile NAME         profile of mediactl login; by default as for mediactl
  --workspace WORKSPACE  instead of that of the profile
`;

/** Bytes that a client has not read, above which its requests wait. */
const maxUnread = 1_000_000;

/** Opens stdout so that a client that does not read blocks nothing: Node.js writes to pipes synchronously. */
function openStdout(): Writable {
  const file = fstatSync(1);
  return file.isFIFO() || file.isSocket() ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}

/** Passes the requests of a client on while it reads the answers. */
const createGate = (stdout: Writable) =>
  new Transform({
    transform: (chunk, _encoding, done) => {
      const pass = () => (stdout.writableLength > maxUnread ? setTimeout(pass, 100) : done(null, chunk));
      pass();
    },
  });

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      root: { type: 'string', multiple: true, default: [] },
      'allow-writes': { type: 'boolean', default: false },
      profile: { type: 'string' },
      workspace: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'V' },
    },
  });
  if (values.help || values.version) return void process.stdout.write(values.help ? usage : `${packageJson.version}\n`);
  const ended = new AbortController();
  const { server, close } = createServer({
    roots: await Roots.open(values.root),
    allowsWrites: values['allow-writes'],
    profile: values.profile,
    workspace: values.workspace,
    signal: ended.signal,
  });
  let isEnding = false;
  const end = () => {
    if (isEnding) return;
    isEnding = true;
    ended.abort(new Error('the server was closed'));
    setTimeout(() => process.exit(), 3_000).unref(); // a socket that does not close
    void close().finally(() => process.exit());
  };
  const stdout = openStdout();
  stdout.on('error', end);
  process.stdin.on('end', end).on('error', end);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  server.server.onclose = end;
  await server.connect(new StdioServerTransport(process.stdin.pipe(createGate(stdout)), stdout));
}

main().catch((error: unknown) => {
  process.stderr.write(`mediactl-mcp: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
});
