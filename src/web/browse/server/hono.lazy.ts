/** The parts of Hono that serve the library page. A separate file, so that other commands do not load them. */
export { Hono } from 'hono';
export { bodyLimit } from 'hono/body-limit';
export { getCookie, setCookie } from 'hono/cookie';
export { secureHeaders } from 'hono/secure-headers';
export { streamSSE } from 'hono/streaming';
