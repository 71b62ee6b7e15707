const fetchTimeoutMs = 30_000;

/**
 * @returns the content, and its URL after redirects
 * @throws Error if the request fails or the content exceeds `maxBytes`
 */
export async function fetchBlob(url: string, maxBytes: number): Promise<{ content: Blob; url: string }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fetchTimeoutMs) });
  if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
  const reader = response.body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader.cancel();
      throw new Error(`more than ${maxBytes} bytes`);
    }
    chunks.push(value);
  }
  const type = response.headers.get('content-type') ?? '';
  return { content: new Blob(chunks, { type }), url: response.url };
}
