import { parentFields, parentOf, slugsOf } from '../../../../contract/asset.ts';
import { assetStatuses, assetTypes } from '../../../../contract/asset-values.ts';
import { classifyStatus, fieldNamesFor, isAwaitingUpload } from '../../../../contract/assumptions.ts';
import { paths } from '../../../../contract/paths.ts';
import type { AssetRecord } from '../../../../contract/types.ts';
import { isUid } from '../../../../contract/uid.ts';
import { asNumber, asObject, asText, normalizeName, parseTimestamp } from '../../../../shared/json-values.ts';
import { type Answer, maxListed, recordsOf, type ServiceProbe, Untried } from './probe.ts';
import { type AssumptionCheck, doesNotHold, holds, type Judgment, listNames, notTried, typeName } from './verdict.ts';

/** Time after which an asset of an unknown status is not in progress any more. */
const longInProgressMs = 24 * 3600_000;

const noAssets = 'the library has no assets';

async function knownAssets(probe: ServiceProbe): Promise<AssetRecord[]> {
  const { first, records } = await probe.assets();
  if (!first.isOk) throw new Untried(first.line);
  if (records.length === 0) throw new Untried(noAssets);
  return records;
}

/** Compares the total of the first page with what the list has. */
async function judgeTotal(probe: ServiceProbe): Promise<Judgment> {
  const { first, total, records, isComplete, error } = await probe.assets();
  if ([400, 422].includes(first.status))
    return doesNotHold(`${first.line}; the specification allows a limit of 1 to 100`);
  if (!first.isOk) return notTried(first.line);
  if (error) return doesNotHold(`${first.line}; ${error.message}`);
  const body = asObject(first.body);
  const [name = ''] = fieldNamesFor('page_total', probe.api.names).filter((each) => asNumber(body[each]) === total);
  if (total === undefined) {
    if (!isComplete) return notTried(`${first.line}, without a total; more than ${maxListed} assets`);
    const other = Object.keys(body).filter((each) => records.length > 1 && asNumber(body[each]) === records.length);
    const found = `${first.line}, and ${records.length} assets listed`;
    if (other.length === 0) return holds(`${found}; no total`);
    const [only] = other.length === 1 ? other : [];
    return doesNotHold(`${found}; the total seems to be ${listNames(other)}`, {
      names: only ? { page_total: only } : {},
    });
  }
  if (isComplete) {
    if (records.length === total) return holds(`${first.line}, ${name} ${total}, and as many assets listed`);
    const again = asNumber(asObject((await probe.getOk(paths.collection('assets'), { limit: 1 })).body)[name]);
    if (again !== total) return notTried('the library changed meanwhile');
    const listed = records.length > total ? `more than ${total}` : records.length;
    return doesNotHold(`${first.line}, ${name} ${total}, but ${listed} assets listed`);
  }
  return judgeEnd(probe, name, total);
}

/** Compares the total of a long list with where it ends. */
async function judgeEnd(probe: ServiceProbe, name: string, total: number): Promise<Judgment> {
  const last = await probe.listBy({ limit: 100, offset: total - 1 });
  const beyond = await probe.get(paths.collection('assets'), { limit: 100, offset: total });
  const isEnd = beyond.status === 404 || (beyond.isOk && recordsOf(beyond).length === 0);
  const found = `${name} ${total}; ${last.answer.line}, ${last.records.length} assets; ${beyond.line}`;
  return last.records.length === 1 && isEnd ? holds(found) : doesNotHold(`${found}, not the end`);
}

/** Types that the fields have if a record shows them (assumption A09). */
const fieldTests: Record<string, (value: unknown, asset: AssetRecord) => boolean> = {
  type: (value) => typeof value === 'string',
  tags: (value) => slugsOf({ tags: value }) !== undefined,
  updated_at: (value) => parseTimestamp(value) !== undefined,
  size: (value) => asNumber(value) !== undefined,
};

async function judgeFields(probe: ServiceProbe): Promise<Judgment> {
  const records = await knownAssets(probe);
  const shown = Object.keys(fieldTests).filter((field) => records.some((asset) => field in asset));
  for (const field of shown)
    for (const asset of records) {
      const value = asset[field];
      if (value === undefined || value === null || fieldTests[field]?.(value, asset)) continue;
      return doesNotHold(`records show ${field} as ${typeName(value)} that cannot be read`);
    }
  const folder = parentFields.find((field) => records.some((asset) => field in asset));
  const unreadable = folder && records.some((asset) => folder in asset && parentOf(asset) === undefined);
  if (unreadable) return doesNotHold(`records show ${folder}, which names no folder`);
  return holds(`${records.length} records show ${listNames([...shown, ...(folder ? [folder] : [])])}`);
}

async function judgeStatuses(probe: ServiceProbe): Promise<Judgment> {
  const records = await knownAssets(probe);
  const now = probe.api.transport.clock.now();
  const texts = records.map(({ status }) => status);
  const other = texts.find((status) => typeof status !== 'string');
  if (texts.some((status) => typeof status !== 'string')) return doesNotHold(`a status is ${typeName(other)}`);
  const all = [...new Set(texts as string[])];
  const isKnown = (status: string) =>
    classifyStatus(status) !== 'in progress' ||
    isAwaitingUpload(status) ||
    assetStatuses.some((known) => known === status.toLowerCase());
  const unknown = all.filter((status) => !isKnown(status));
  const isOld = ({ created_at }: AssetRecord) => (parseTimestamp(created_at) ?? now) < now - longInProgressMs;
  const stuck = unknown.filter((status) => records.some((asset) => asset.status === status && isOld(asset)));
  if (stuck.length > 0) return doesNotHold(`${listNames(stuck)} counts as in progress, of assets older than a day`);
  if (unknown.length > 0) return notTried(`${listNames(unknown)}: of assets that may be in progress`);
  return holds(`statuses ${listNames(all)}`);
}

/** Sends each value of a filter, and looks at what is listed. */
async function judgeFilter(
  probe: ServiceProbe,
  filter: 'status' | 'type',
  values: readonly string[],
): Promise<Judgment> {
  const refused: Answer[] = [];
  const listed = new Map<string, AssetRecord[]>();
  for (const value of values) {
    const answer = await probe.get(paths.collection('assets'), { [filter]: value, limit: 10 });
    if (answer.status === 400 || answer.status === 422) refused.push(answer);
    else if (answer.isOk) listed.set(value, recordsOf(answer));
    else return notTried(answer.line);
  }
  const firstRefused = refused[0];
  if (firstRefused) return doesNotHold(`${refused.length} of ${values.length} values refused: ${firstRefused.line}`);
  for (const [value, records] of listed) {
    const other = records.find((asset) => (asText(asset[filter]) ?? value).toLowerCase() !== value);
    if (other)
      return doesNotHold(
        `GET /assets/?${filter}=${value} lists an asset whose ${filter} is another: it ignores the filter`,
      );
    const twice = [...listed].find(
      ([each, some]) => each !== value && some.some(({ uid }) => records.some((one) => one.uid === uid)),
    );
    if (twice)
      return doesNotHold(`${filter}=${value} and ${filter}=${twice[0]} list the same asset: it ignores the filter`);
  }
  const found = [...listed].flatMap(([value, { length }]) => (length > 0 ? [value] : []));
  if (found.length === 0) return notTried(`it accepts the ${filter} values, but lists nothing by them`);
  return holds(`accepts ${listNames(values)}; listed some ${listNames(found)}`);
}

async function judgeFilters(probe: ServiceProbe): Promise<Judgment> {
  const status = await judgeFilter(probe, 'status', assetStatuses);
  if (status.status === 'does_not_hold') return status;
  const type = await judgeFilter(probe, 'type', assetTypes);
  if (type.status !== 'holds') return type;
  return status.status === 'holds' ? holds(`${status.detail}; ${type.detail}`) : status;
}

async function judgeUids(probe: ServiceProbe): Promise<Judgment> {
  const workspaces = (await probe.workspaces()).records;
  const { records } = await probe.assets();
  const folders = (await probe.folders().catch(() => undefined))?.list ?? [];
  const uids = [...workspaces, ...records, ...folders].map((each) => asObject(each).uid);
  const other = uids.find((uid) => typeof uid !== 'string' || !isUid(uid));
  if (uids.length === 0) return notTried('nothing has a uid');
  if (uids.every((uid) => typeof uid === 'string' && isUid(uid)))
    return holds(`${uids.length} uids of workspaces, assets and folders`);
  return doesNotHold(
    `a uid is ${typeof other === 'string' ? `no UUID, of ${other.length} characters` : typeName(other)}`,
  );
}

/** Hours of a day near midnight, in which a day of another time zone is another one. */
const isEarly = (time: number) => new Date(time).getUTCHours() < 2;
const isLate = (time: number) => new Date(time).getUTCHours() >= 22;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Lists the days of the assets that were created first and last of their days. */
async function judgeDays(probe: ServiceProbe): Promise<Judgment> {
  const timeOf = (asset: AssetRecord) => parseTimestamp(asset.created_at) ?? Number.NaN;
  const ofDay = (asset: AssetRecord) => timeOf(asset) % 86_400_000;
  const dated = (await knownAssets(probe)).filter((asset) => !Number.isNaN(timeOf(asset)));
  const sorted = dated.sort((one, other) => ofDay(one) - ofDay(other));
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (!first || !last) return notTried('no asset shows when it was created');
  for (const asset of [first, last]) {
    const day = dayOf(timeOf(asset));
    const { answer, records } = await probe.listBy({ created_after: day, created_before: day, limit: 100 });
    if (records.some((each) => dayOf(timeOf(each)) !== day))
      return doesNotHold(`${answer.line}, with an asset of another day of UTC`);
    if (records.some(({ uid }) => uid === asset.uid)) continue;
    if (records.length === 100) return notTried('more than 100 assets of one day');
    return doesNotHold(`${answer.line}, without an asset of that day of UTC`);
  }
  if (isEarly(timeOf(first)) && isLate(timeOf(last)))
    return holds('assets of the first and last hours of a day of UTC are listed by that day');
  return notTried('no asset was created near midnight, UTC');
}

/** Searches for whole names: the shortest one, and one with a character that may divide words. */
async function judgeSearch(probe: ServiceProbe): Promise<Judgment> {
  const names = (await knownAssets(probe)).flatMap(({ name }) =>
    asText(name) && /[\p{L}\p{N}]/u.test(String(name)) ? [String(name)] : [],
  );
  const shortest = names.toSorted((one, other) => one.length - other.length).at(0);
  const divided = names.find((name) => /[_.,-]/.test(name));
  const searched = [...new Set([shortest, divided])].filter((name) => name !== undefined);
  if (searched.length === 0) return notTried('no asset has a name with a letter or digit');
  for (const search of searched) {
    const answer = await probe.get(paths.collection('assets'), { search, limit: 100 });
    const what = `GET /assets/?search={name}: ${answer.status} for a name of ${search.length} characters`;
    if (![200, 400, 422].includes(answer.status)) return notTried(what);
    const found = answer.isOk ? recordsOf(answer) : [];
    const isFound = found.some(({ name }) => normalizeName(asText(name) ?? '') === normalizeName(search));
    if (!isFound && found.length === 100) return notTried(`${what}, and lists more than 100 assets`);
    if (!isFound) return doesNotHold(`${what}, which does not list it`);
  }
  return holds(`GET /assets/?search={name} lists ${searched.length} assets by their names`);
}

async function judgeRedirects(probe: ServiceProbe): Promise<Judgment> {
  const { first } = await probe.assets();
  if (!first.isOk) return notTried(first.line);
  const isDirect = first.response.url.pathname === paths.collection('assets');
  return isDirect
    ? holds(`${first.line}, at its own path`)
    : doesNotHold(`${first.line} after a redirect, which no write follows`);
}

export const listChecks: readonly AssumptionCheck[] = [
  { id: 'A01', sends: 'GET /assets/?limit=100, to its end', judge: judgeTotal },
  { id: 'A09', sends: 'GET /assets/', judge: judgeFields },
  { id: 'A11', sends: 'GET /assets/', judge: judgeStatuses },
  { id: 'A12', sends: 'GET /assets/?status=… and ?type=…, each value', judge: judgeFilters },
  { id: 'A30', sends: 'GET /assets/?search=… of whole names', judge: judgeSearch },
  { id: 'A32', sends: 'GET /assets/?created_after=… and created_before', judge: judgeDays },
  { id: 'A35', sends: 'GET /assets/', judge: judgeRedirects },
  { id: 'A24', sends: 'GET /assets/, /workspaces/, the folders', judge: judgeUids },
];
