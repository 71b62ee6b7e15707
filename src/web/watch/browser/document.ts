import type { PlayerSetup } from '../setup.ts';

/** Embeds a document in a frame if the browser can display it. Otherwise, the page shows only a link to it. */
export function showDocument({ url, contentType, title }: NonNullable<PlayerSetup['document']>): void {
  const isPdf = contentType === 'application/pdf';
  const isText = contentType.startsWith('text/');
  if (!(isPdf && navigator.pdfViewerEnabled) && !isText) return;
  const frame = document.createElement('iframe');
  if (isText) frame.setAttribute('sandbox', ''); // PDF viewers do not work in a sandbox
  frame.className = 'frame page';
  frame.title = title;
  frame.src = url;
  document.getElementById('document')?.append(frame);
}
