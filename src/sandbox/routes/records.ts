import type { Service } from '../service.ts';
import type { AssetRow } from '../store/assets.ts';
import { thumbnailUrl } from './media-urls.ts';
import type { ResponseBody } from './response-schemas.ts';

type ListItem = ResponseBody<'listItem'>;
type Detail = ResponseBody<'detail'>;

/** Converts an asset to a list item with the fields of its type. */
export function toListItem(service: Service, asset: AssetRow): ListItem {
  const { width, height, duration } = asset;
  const common = {
    uid: asset.uid,
    name: asset.name,
    description: asset.description,
    status: asset.status,
    created_at: asset.created_at,
    updated_at: asset.updated_at,
    thumbnail_url: thumbnailUrl(service, asset),
    tags: JSON.parse(asset.tags),
    size: asset.size,
    parent: asset.parent_uid,
  };
  const { type } = asset;
  switch (type) {
    case 'video':
      return { ...common, type, duration, width, height };
    case 'audio':
      return { ...common, type, duration };
    case 'image':
      return { ...common, type, duration: null, width, height };
    case 'document':
    case 'third_party':
    case 'generic':
      return { ...common, type, duration: null };
  }
}

/** Converts an asset to the detail response: its list item plus workspace, file and failure reason. */
export const toDetail = (service: Service, asset: AssetRow): Detail => ({
  ...toListItem(service, asset),
  workspace: asset.workspace_uid,
  filename: asset.filename,
  content_type: asset.content_type,
  failure_reason: asset.failure_reason,
});
