import type { AssetRecord } from '../../../contract/types.ts';
import { asText, normalizeName } from '../../../shared/json-values.ts';
import type { KeptOutcome } from '../../../shared/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import { asCodedError, CodedError, ignoreNotFound } from '../../errors.ts';
import type { GivenMetadata } from '../sources/upload-file.ts';
import { type FollowingChange, type KeepDecision, type SendDecision, sendNew } from './decision.ts';

/** Words for metadata in messages. */
const words = { name: 'name', description: 'description', contentType: 'content type', tags: 'tags' } as const;

type Field = keyof typeof words;

/**
 * Returns the given metadata that this machine has not given to the asset yet, so that a repeated command costs no
 * request, and does not revert what somebody edited meanwhile.
 */
export function newMetadata(given: GivenMetadata, before: GivenMetadata | null): GivenMetadata {
  const { tags = [], ...texts } = given;
  const added = tags.filter((tag) => !before?.tags?.includes(tag));
  const changed = Object.entries(texts).filter(([field, value]) => before?.[field as keyof typeof texts] !== value);
  return { ...Object.fromEntries(changed), ...(added.length > 0 && { tags: added }) };
}

/**
 * Adds to a kept file what the user gave for it and its asset does not have: as a change of the file's own asset. The
 * asset of another file, or one that was not compared, is not changed: these metadata are `unwritten`. So is the content
 * type, which the service takes at the creation only (assumption A08).
 *
 * Reads the asset, unless `decision` has its record or nothing new is given.
 *
 * @returns the file to be sent if the asset no longer exists
 */
export async function withMetadata(
  kept: KeepDecision,
  given: GivenMetadata,
  api: Api,
): Promise<KeepDecision | SendDecision> {
  const decision = given.name === undefined ? kept : withoutFileName(kept);
  const { outcome, receipt } = decision;
  const wanted = newMetadata(given, receipt.about);
  if (Object.keys(wanted).length === 0) return decision;
  const isOwn = outcome === 'skipped' || outcome === 'moved';
  const { assetUid } = receipt;
  const record = decision.record ?? (await api.assets.get(assetUid).catch(ifReadable));
  if (!record && isOwn) return { ...sendNew, records: [{ record: 'forgotten', assetUid }] };
  if (!record || record === 'unreadable') return { ...decision, unwritten: wanted };
  const { fields: changed, addedTags, unwritten } = compare(api, record, wanted);
  if (!isOwn) {
    const isMissing = (field: Field) =>
      field in changed || (field === 'tags' && addedTags.length > 0) || unwritten.includes(field);
    return { ...decision, unwritten: pick(wanted, isMissing) };
  }
  const { movesFolder = false, fields: moved = {} } = decision.change ?? {};
  const change = { fields: { ...moved, ...changed }, addedTags, movesFolder };
  const hasChange = movesFolder || Object.keys(change.fields).length + addedTags.length > 0;
  const about = pick(wanted, (field) => !unwritten.includes(field));
  return {
    ...decision,
    record,
    outcome: outcome === 'skipped' && hasChange ? 'updated' : outcome,
    records: [...decision.records, { record: 'about', assetUid, about }],
    change: hasChange ? change : undefined,
    unwritten: pick(wanted, (field) => unwritten.includes(field)),
  };
}

const pick = (given: GivenMetadata, isPicked: (field: Field) => boolean): GivenMetadata =>
  Object.fromEntries(Object.entries(given).filter(([field]) => isPicked(field as Field)));

/** Returns the decision for a renamed file whose asset does not get its name, since the user gave another one. */
function withoutFileName({ change, ...decision }: KeepDecision): KeepDecision {
  const { name, ...fields } = change?.fields ?? {};
  if (!change || name === undefined) return { ...decision, ...(change && { change }) };
  if (change.movesFolder) return { ...decision, change: { ...change, fields } };
  return { ...decision, outcome: decision.folderMoves ? decision.outcome : 'skipped' };
}

/** Returns false if the asset does not exist, and `unreadable` if the key may not read it. */
export const ifReadable = (thrown: unknown) =>
  asCodedError(thrown).kind === 'forbidden' ? ('unreadable' as const) : ignoreNotFound(thrown);

/** Returns what is to be written of the wanted metadata, and what cannot be. */
function compare(
  { assets }: Api,
  record: AssetRecord,
  { name, description, contentType, tags = [] }: GivenMetadata,
): Pick<FollowingChange, 'fields' | 'addedTags'> & { unwritten: Field[] } {
  const shownTags = assets.tagsOf(record);
  const addedTags = shownTags ? tags.filter((tag) => !shownTags.includes(tag)) : [];
  const isNamed = name === undefined || normalizeName(asText(record.name) ?? '') === normalizeName(name);
  const isDescribed = description === undefined || (asText(record.description) ?? '') === description;
  const hasType = contentType === undefined || asText(record.content_type) === contentType;
  return {
    fields: { ...(!isNamed && { name }), ...(!isDescribed && { description }) },
    addedTags,
    unwritten: [
      ...(tags.length > 0 && !shownTags ? ['tags' as const] : []),
      ...(hasType ? [] : ['contentType' as const]),
    ],
  };
}

/** Creates the error for metadata that the asset of a kept file does not get; undefined if there are none. */
export function unwrittenError(
  outcome: KeptOutcome,
  assetUid: string,
  unwritten: GivenMetadata,
): CodedError | undefined {
  const names = (Object.keys(unwritten) as Field[]).map((field) => words[field]);
  if (names.length === 0) return undefined;
  return new CodedError(`asset ${assetUid} did not get the given ${names.join(', ')}`, {
    code: 'skipped',
    reason: reasons[outcome],
    details: { asset_uid: assetUid },
  });
}

const isOwn = 'the service did not show it, or takes it only when an asset is created';
const isOther = 'it was uploaded from another file, and is not changed';

const reasons: Record<KeptOutcome, string> = {
  skipped: isOwn,
  moved: isOwn,
  updated: isOwn,
  duplicate: isOther,
  same_name_and_size: 'it was not compared with the file',
  exists: isOther,
};
