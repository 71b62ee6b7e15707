/** A12: suggested in help and completions; any other value is passed through. */
export const assetTypes = [
  'video',
  'audio',
  'image',
  'document',
  'third_party',
  'generic',
] as const;

/** A11: suggested in help and completions; any other value is passed through. */
export const assetStatuses = ['queued', 'processing', 'ready', 'failed'] as const;
