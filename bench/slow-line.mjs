// A proxy that adds latency between client and service, in a separate process: every byte is delayed by half a
// round trip, a new connection by a full one. `node slow-line.mjs PORT MS`; prints its port.
import { connect, createServer } from 'node:net';

const [port, roundTripMs] = process.argv.slice(2).map(Number);
/** Maximum bytes in flight in one direction of a connection: the limit of Linux's send buffers. */
const window = 4 * 1024 * 1024;

function carry(from, to, readyAt) {
  let underWay = 0;
  const queue = []; // timers of different lengths may fire out of order
  const later = (work) => {
    queue.push(work);
    const delayMs = Math.max(0, readyAt - performance.now()) + roundTripMs / 2;
    setTimeout(() => queue.shift()(), delayMs);
  };
  from.on('data', (bytes) => {
    underWay += bytes.length;
    if (underWay >= window) from.pause();
    later(() =>
      to.write(bytes, () => {
        underWay -= bytes.length;
        if (underWay < window) from.resume();
      }),
    );
  });
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
}

createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const service = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  carry(client, service, performance.now() + roundTripMs);
  carry(service, client, 0);
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`${this.address().port}\n`);
});
