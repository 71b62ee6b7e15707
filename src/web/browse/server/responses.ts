import { budgetHeader, type RequestBudget } from '../protocol.ts';
import type { Problem } from './backend.ts';

/** Security headers of every response: no caching, no cross-origin access, no MIME sniffing. */
const securityHeaders = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Default Content-Security-Policy. It keeps an image or text opened directly from running or loading anything. */
const defaultPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** Creates a response with the security headers, which `headers` can override. */
export function createResponse(
  body: string | Uint8Array | ReadableStream | null,
  contentType: string,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Response {
  return new Response(body as ConstructorParameters<typeof Response>[0], {
    status,
    headers: {
      ...securityHeaders,
      'content-security-policy': defaultPolicy,
      ...(body !== null && { 'content-type': contentType }),
      ...headers,
    },
  });
}

export const jsonResponse = (value: unknown, budget: RequestBudget | undefined, status = 200) =>
  createResponse(JSON.stringify(value), 'application/json', {
    status,
    headers: budget && { [budgetHeader]: JSON.stringify(budget) },
  });

export const problemResponse = (problem: Problem, budget?: RequestBudget) =>
  jsonResponse({ error: problem }, budget, problem.status);

/**
 * Creates an HTML response. Sends the Content-Security-Policy as a header, because `frame-ancestors` has no effect
 * in markup.
 */
export const htmlResponse = (
  { html, contentSecurityPolicy }: { html: string; contentSecurityPolicy: string },
  frameAncestors: "'none'" | "'self'",
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
) =>
  createResponse(html, 'text/html; charset=utf-8', {
    status,
    headers: {
      'content-security-policy': `${contentSecurityPolicy}; frame-ancestors ${frameAncestors}`,
      ...headers,
    },
  });
