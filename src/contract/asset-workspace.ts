import { asArray, asObject, asText } from '../shared/json-values.ts';
import { fieldNamesFor, type NameOverrides } from './assumptions.ts';
import type { AssetRecord } from './types.ts';
import { isUid } from './uid.ts';

/** What a record shows of an asset's workspace (assumption A29): uids, and other texts, which may be names. */
export type ShownWorkspace = { uids: readonly string[]; names: readonly string[] };

/** Names of the fields in which a record may show the asset's workspace. */
export const workspaceFields = (names?: NameOverrides): readonly string[] => fieldNamesFor('asset_workspace', names);

/** Returns what a record shows of the asset's workspace. No other module reads it from a record. */
export function shownWorkspace(asset: AssetRecord, names?: NameOverrides): ShownWorkspace {
  const values = workspaceFields(names).flatMap((field) => textsIn(asset[field]));
  return { uids: values.filter(isUid), names: values.filter((value) => !isUid(value)) };
}

/** Reports whether a record shows anything of the asset's workspace. */
export const showsWorkspace = (asset: AssetRecord, names?: NameOverrides): boolean => {
  const shown = shownWorkspace(asset, names);
  return shown.uids.length + shown.names.length > 0;
};

/** Returns the texts of a field: of a text, of an object with `uid`, `id` or `name`, or of a list of these. */
function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return asArray(value).flatMap(textsIn);
  const { uid, id, name } = asObject(value);
  return [value, uid, id, name].map((each) => asText(each)?.trim() ?? '').filter((text) => text !== '');
}
