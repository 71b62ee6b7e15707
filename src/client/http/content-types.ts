/** Returns true for octet-stream, the generic media type of binary data. */
export const isGenericType = (type: string) => /^(?:application|binary)\/octet-stream\b/i.test(type);

export const isTextType = (type: string) => /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b)/i.test(type);

/**
 * Returns why a response in place of a file is an error message of a server or proxy, by its media type; undefined if it
 * is not one.
 */
export function errorPageReason(type: string, { mayBeHtml, mayBeText }: { mayBeHtml: boolean; mayBeText: boolean }) {
  if (/^text\/html\b|xhtml/i.test(type) && !mayBeHtml) return 'it sent a web page';
  return isTextType(type) && !mayBeText ? `it sent text: ${type}` : undefined;
}
