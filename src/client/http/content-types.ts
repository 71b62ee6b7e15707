/** Returns true for octet-stream, the generic media type of binary data. */
export const isGenericType = (type: string) => /^(?:application|binary)\/octet-stream\b/i.test(type);

export const isTextType = (type: string) => /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b)/i.test(type);
