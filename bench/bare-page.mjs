// Baseline for browsing a library: a minimal page that requests 100 assets and prints their names.
// `node bench/bare-page.mjs SERVICE KEY`; prints its URL.
import { createServer } from 'node:http';

const [service, key] = process.argv.slice(2);
const page = `<!doctype html><title>bare</title><script type="module">
const { items } = await (await fetch('/assets')).json();
for (const { name } of items) document.body.append(Object.assign(document.createElement('p'), { className: 'thing', textContent: name }));
</script><body>`;
const server = createServer(async (request, response) => {
  const isList = request.url === '/assets';
  response.setHeader('content-type', isList ? 'application/json' : 'text/html');
  const assets = () =>
    fetch(`${service}/api/external/v1/assets/?limit=100`, {
      headers: { authorization: `Bearer ${key}` },
    });
  response.end(isList ? await (await assets()).text() : page);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`);
});
