/** Asset types suggested in help and completions (A12). Any other value is passed through. */
export const assetTypes = [
  'video',
  'audio',
  'image',
  'document',
  'third_party',
  'generic',
] as const;

/** Asset statuses suggested in help and completions (A11). Any other value is passed through. */
export const assetStatuses = ['queued', 'processing', 'ready', 'failed'] as const;
