// Counts the source files in which a named function runs, for a few commands and requests: how many files a
// reader has to open to follow them. Each file is transpiled alone and run with V8's coverage.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeCoverage } from 'node:v8';
import { transform } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const script = fileURLToPath(import.meta.url);

/** Transpiles each file of src to CommonJS. */
async function transpile(folder) {
  const files = readdirSync(join(root, 'src'), { recursive: true }).filter((path) => /(?<!\.d)\.tsx?$/.test(path));
  for (const path of files) {
    const loader = path.endsWith('x') ? 'tsx' : 'ts';
    const { code } = await transform(readFileSync(join(root, 'src', path), 'utf8'), {
      loader,
      format: 'cjs',
      platform: 'node',
    });
    const target = join(folder, 'src', path.replace(/\.tsx?$/, '.cjs'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, code.replace(/\b(require|import)\("(\.[^"]*)\.tsx?"\)/g, '$1("$2.cjs")'));
  }
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
}

/** Returns the files of a coverage report in which a named function ran. Exports and module bodies do not count. */
function filesRun(report, folder) {
  const files = report.result.filter(({ url }) => url.startsWith(`file://${folder}/src/`));
  return files
    .map(({ url, functions }) => ({ path: fileURLToPath(url), functions }))
    .filter(({ path, functions }) => {
      const body = readFileSync(path, 'utf8').indexOf('module.exports = __toCommonJS');
      return functions.some(
        ({ functionName, ranges: [{ startOffset, count }] }) =>
          count > 0 && /^[\w#$]+$/.test(functionName) && startOffset > body && startOffset > 0,
      );
    })
    .map(({ path }) => relative(join(folder, 'src'), path).replace(/\.cjs$/, ''))
    .sort();
}

const readReports = (folder) =>
  readdirSync(folder)
    .sort((a, b) => Number(a.split('-')[2]) - Number(b.split('-')[2]) || a.localeCompare(b, 'en', { numeric: true }))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));

/** Runs a command of the transpiled program. */
function runCommand(folder, environment, args) {
  const reports = mkdtempSync(join(folder, 'coverage-'));
  const env = { ...environment, NODE_V8_COVERAGE: reports };
  execFileSync(process.execPath, [join(folder, 'src/main.cjs'), ...args], { env, cwd: folder, stdio: 'pipe' });
  return filesRun(readReports(reports).at(-1), folder);
}

/** Serves one request after another in a child process, and writes the files of each to stdout, as JSON. */
async function serveRequests(folder) {
  const { createSandbox } = createRequire(script)(join(folder, 'src/sandbox/create.cjs'));
  const sandbox = await createSandbox({
    port: 0,
    pid: process.pid,
    node: process.execPath,
    dataDir: join(folder, 'service'),
    mediaWorker: join(root, 'dist/media-worker.cjs'),
    killGroup() {},
    playerScript: '',
  });
  const headers = { authorization: `Bearer ${sandbox.createKey('hops')}`, 'tus-resumable': '1.0.0' };
  const api = `${sandbox.url}/api/external/v1`;
  const run = async (method, url, more = {}, body = undefined) => {
    takeCoverage();
    const response = await fetch(url, { method, body, headers: { ...headers, ...more } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
    takeCoverage();
    const report = readReports(process.env.NODE_V8_COVERAGE).at(-1);
    return { files: filesRun(report, folder), location: response.headers.get('location') };
  };
  const encode = (value) => Buffer.from(value).toString('base64');
  const metadata = `filename ${encode('a.bin')},workspace_uid ${encode(sandbox.workspace)}`;
  const results = {};
  results['GET /assets/'] = (await run('GET', `${api}/assets/`)).files;
  const created = await run('POST', `${api}/upload/`, { 'upload-length': '8', 'upload-metadata': metadata });
  results['POST /upload/'] = created.files;
  // Half of the file: at its end, processing begins beside the response.
  const patch = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  results['PATCH /upload/{uid}/'] = (await run('PATCH', new URL(created.location, api), patch, 'data')).files;
  process.send(results, () => process.exit());
}

async function measureRequests(folder) {
  const env = { ...process.env, NODE_V8_COVERAGE: mkdtempSync(join(folder, 'coverage-')) };
  const child = spawn(process.execPath, [script, '--serve', folder], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let results;
  child.on('message', (message) => {
    results = message;
  });
  const [code] = await once(child, 'exit');
  if (!results) throw new Error(`the service exited with ${code}`);
  return results;
}

async function measureCommands(folder) {
  const environment = {
    ...process.env,
    MEDIACTL_CONFIG_DIR: join(folder, 'config'),
    MEDIACTL_STATE_DIR: join(folder, 'state'),
  };
  const mediactl = (...args) =>
    execFileSync(process.execPath, [join(root, 'bin/mediactl.js'), ...args], {
      env: environment,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  const clip = join(folder, 'clip.mp4');
  copyFileSync(join(root, 'test/fixtures/clip.mp4'), clip);
  mediactl('sandbox', 'start', '--port', '0');
  try {
    return {
      'assets ls --json': runCommand(folder, environment, ['assets', 'ls', '--json']),
      'upload clip.mp4': runCommand(folder, environment, ['upload', clip]),
    };
  } finally {
    mediactl('sandbox', 'stop');
  }
}

if (process.argv[2] === '--serve') await serveRequests(process.argv[3]);
else {
  const folder = mkdtempSync(join(tmpdir(), `${basename(root)}-hops-`));
  try {
    await transpile(folder);
    execFileSync('ln', ['-s', join(root, 'node_modules'), join(folder, 'node_modules')]);
    const results = { ...(await measureCommands(folder)), ...(await measureRequests(folder)) };
    const isVerbose = process.argv.includes('--files');
    for (const [trip, files] of Object.entries(results))
      process.stdout.write(
        `${String(files.length).padStart(4)}  ${trip}\n${isVerbose ? `${files.map((file) => `        ${file}\n`).join('')}` : ''}`,
      );
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
