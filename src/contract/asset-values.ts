/** Types of assets (assumption A12), which help and completions suggest. */
export const assetTypes = ['video', 'audio', 'image', 'document', 'third_party', 'generic'] as const;
export type AssetType = (typeof assetTypes)[number];

/** Returns undefined for an unknown type, because services might have others. */
export function entryForType<T>(entries: Readonly<Record<AssetType, T>>, type: unknown): T | undefined {
  const known = assetTypes.find((each) => each === type);
  return known && entries[known];
}

/** Asset types that have a duration and a playback position. */
export const isTimedType = {
  video: true,
  audio: true,
  image: false,
  document: false,
  third_party: false,
  generic: false,
} satisfies Record<AssetType, boolean>;

/** Statuses of assets (assumption A11), in the order in which an asset passes them. Services might have others. */
export const assetStatuses = ['uploading', 'queued', 'processing', 'ready', 'failed'] as const;
export type AssetStatus = (typeof assetStatuses)[number];

export const statusMeanings = {
  uploading: 'awaiting upload',
  queued: 'in progress',
  processing: 'in progress',
  ready: 'ready',
  failed: 'failed',
} as const satisfies Record<AssetStatus, string>;

/** Statuses suggested in help and completions. An asset gets them once all its bytes have arrived. */
export const suggestedStatuses = assetStatuses.filter((status) => statusMeanings[status] !== 'awaiting upload');
