import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Html, html, inlineCode } from './html.ts';

export type PageFile = {
  /** Path of its URL. It contains a hash of the code, so that a browser can keep the file forever. */
  path: string;
  code: Html;
  /** SHA-256 of the code, as in `integrity` and, between quotes, in a Content-Security-Policy. */
  hash: string;
};

export const pageFilesPath = '/static/';

/** Creates a page file; `name` is like `player.js` or `watch.css`. */
export function createPageFile(name: `${string}.${'js' | 'css'}`, source: string): PageFile {
  const code = inlineCode(source);
  const digest = createHash('sha256').update(code.markup).digest();
  const path = `${pageFilesPath}${name.replace('.', `-${digest.toString('hex').slice(0, 16)}.`)}`;
  return { path, code, hash: `sha256-${digest.toString('base64')}` };
}

export const readScript = async (folder: string, name: `${string}.js`): Promise<PageFile> =>
  createPageFile(name, await readFile(join(folder, name), 'utf8'));

/** Renders the element of a page file: its code, or only its URL. */
export function renderPageFile({ path, code, hash }: PageFile, isInline = true): Html {
  // With `crossorigin`, integrity also works in a sandboxed frame, whose origin is opaque.
  if (path.endsWith('.js'))
    return isInline
      ? html`<script>${code}</script>`
      : html`<script src="${path}" integrity="${hash}" crossorigin defer></script>`;
  return isInline ? html`<style>${code}</style>` : html`<link rel="stylesheet" href="${path}">`;
}

/** Responds to a request for one of the page files; undefined for another path. They are public, as is their code. */
export function respondWithPageFile(files: readonly PageFile[], path: string): Response | undefined {
  const file = files.find((each) => each.path === path);
  const type = path.endsWith('.js') ? 'text/javascript' : 'text/css';
  return (
    file &&
    new Response(file.code.markup, {
      headers: {
        'content-type': `${type}; charset=utf-8`,
        'cache-control': 'public, max-age=31536000, immutable',
        'access-control-allow-origin': '*',
        'x-content-type-options': 'nosniff',
      },
    })
  );
}
