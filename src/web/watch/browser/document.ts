import type { Setup } from '../setup.ts';

/** A frame with the document where the browser shows it; elsewhere, the link is what there is. */
export function showDocument({ url, contentType, title }: NonNullable<Setup['document']>): void {
  const isPdf = contentType === 'application/pdf';
  const isText = contentType.startsWith('text/');
  if (!(isPdf && navigator.pdfViewerEnabled) && !isText) return;
  const frame = document.createElement('iframe');
  if (isText) frame.setAttribute('sandbox', ''); // a PDF viewer does not run in one
  frame.className = 'frame page';
  frame.title = title;
  frame.src = url;
  document.getElementById('document')?.append(frame);
}
