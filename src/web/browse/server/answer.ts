import { type Budget, budgetHeader } from '../protocol.ts';
import type { Problem } from './library.ts';

/** Nothing here is for anybody else, nor to be kept, nor anything but what it says it is. */
const common = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A picture or a text that is opened by itself does nothing at all. */
const inert = "default-src 'none'; frame-ancestors 'none'; sandbox";

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

/** A document; its policy goes as a header too, which frames are judged by. */
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
