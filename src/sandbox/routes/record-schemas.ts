import { z } from '@hono/zod-openapi';
import { type AssetType, assetStatuses } from '../../contract/asset-values.ts';

const status = z.enum(assetStatuses).openapi('AssetStatus');

/** Asset types with the generic shape: "The asset kinds are video, audio, image and generic" (§2). */
const genericTypes = ['document', 'third_party', 'generic'] as const satisfies AssetType[];

const common = {
  uid: z.guid(),
  name: z.string(),
  description: z.string(),
  status,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  thumbnail_url: z.url().nullable(),
  tags: z.array(z.string()),
  size: z.number().int(),
  parent: z.guid().nullable(),
};

/** Fields that depend on the asset type. Every API record has `duration`, because §2 names it. */
const timed = { duration: z.number().nullable() };
const untimed = { duration: z.null() };
const dimensionFields = { width: z.number().int().nullable(), height: z.number().int().nullable() };

const typeFields = {
  video: { type: z.literal('video'), ...timed, ...dimensionFields },
  audio: { type: z.literal('audio'), ...timed },
  image: { type: z.literal('image'), ...untimed, ...dimensionFields },
  generic: { type: z.enum(genericTypes), ...untimed },
};

const detailed = {
  workspace: z.guid(),
  filename: z.string(),
  content_type: z.string().nullable(),
  failure_reason: z.string().nullable(),
};

export const videoListItem = z.object({ ...common, ...typeFields.video }).openapi('VideoListItem');

/** Schema of a list item: "The asset list returns a union of list-item shapes (video, audio, image, generic)" (§2). */
export const listItem = z
  .discriminatedUnion('type', [
    videoListItem,
    z.object({ ...common, ...typeFields.audio }).openapi('AudioListItem'),
    z.object({ ...common, ...typeFields.image }).openapi('ImageListItem'),
    z.object({ ...common, ...typeFields.generic }).openapi('GenericListItem'),
  ])
  .openapi('AssetListItem');

export const videoDetail = z.object({ ...common, ...typeFields.video, ...detailed }).openapi('VideoDetail');

/** Schema of an asset: "The asset detail returns the detail shape of the asset's type" (§2). */
export const detail = z
  .discriminatedUnion('type', [
    videoDetail,
    z.object({ ...common, ...typeFields.audio, ...detailed }).openapi('AudioDetail'),
    z.object({ ...common, ...typeFields.image, ...detailed }).openapi('ImageDetail'),
    z.object({ ...common, ...typeFields.generic, ...detailed }).openapi('GenericDetail'),
  ])
  .openapi('AssetDetail');

/** Schema with only the fields that §2 names for every type. `type` is named only in playback info. */
const strictRecord = z.object({
  uid: common.uid,
  name: common.name,
  description: common.description,
  status: common.status,
  created_at: common.created_at,
  duration: timed.duration,
  thumbnail_url: common.thumbnail_url,
  tags: common.tags,
});
export const strictListItem = strictRecord.openapi('AssetListItem');
export const strictDetail = strictRecord.openapi('AssetDetail');
