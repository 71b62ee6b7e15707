/** Asset types suggested in help and completions (assumption A12). Any other value is passed to the service. */
export const assetTypes = ['video', 'audio', 'image', 'document', 'third_party', 'generic'] as const;

/** Asset statuses suggested in help and completions (assumption A11). Any other value is passed to the service. */
export const assetStatuses = ['queued', 'processing', 'ready', 'failed'] as const;
