import { type Budget, budgetHeader } from '../protocol.ts';
import type { Problem } from './library.ts';

/** Security headers of every response: no caching, no cross-origin access, no MIME sniffing. */
const common = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Default Content-Security-Policy: an image or text opened directly runs and loads nothing. */
const inert = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** Creates a response with the security headers; `headers` may override them. */
export function answer(
  body: string | Uint8Array | ReadableStream | null,
  contentType: string,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Response {
  return new Response(body as ConstructorParameters<typeof Response>[0], {
    status,
    headers: {
      ...common,
      'content-security-policy': inert,
      ...(body !== null && { 'content-type': contentType }),
      ...headers,
    },
  });
}

export const json = (value: unknown, budget: Budget | undefined, status = 200) =>
  answer(JSON.stringify(value), 'application/json', {
    status,
    headers: budget && { [budgetHeader]: JSON.stringify(budget) },
  });

export const refusal = (problem: Problem, budget?: Budget) =>
  json({ error: problem }, budget, problem.status);

/** Creates an HTML response. Sends the policy as a header: `frame-ancestors` has no effect in markup. */
export const document = (
  { html, contentSecurityPolicy }: { html: string; contentSecurityPolicy: string },
  framedBy: "'none'" | "'self'",
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
) =>
  answer(html, 'text/html; charset=utf-8', {
    status,
    headers: {
      'content-security-policy': `${contentSecurityPolicy}; frame-ancestors ${framedBy}`,
      ...headers,
    },
  });
