import { WorkspaceEmbedSettings } from '../../../../client/api/embed-settings.ts';
import { CodedError } from '../../../../client/errors.ts';
import { isPrimary } from '../../../../client/library/workspaces.ts';
import { paths } from '../../../../contract/paths.ts';
import { asObject, asText, isJsonObject } from '../../../../shared/json-values.ts';
import type { ServiceProbe } from './probe.ts';
import { type AssumptionCheck, doesNotHold, holds, type Judgment, listNames, notTried } from './verdict.ts';

async function judgeWorkspaceRecord(probe: ServiceProbe): Promise<Judgment> {
  const { answer, records } = await probe.workspaces();
  const [first] = records;
  if (!first) return doesNotHold(`${answer.line}, no workspaces`);
  const fields = `${answer.line}, ${records.length} with ${listNames(Object.keys(first))}`;
  if (records.some(({ uid }) => asText(uid) === undefined)) return doesNotHold(`${fields}; one has no uid`);
  const primary = records.filter(isPrimary);
  const isNamed = records.every(({ name }) => asText(name) !== undefined);
  if (primary.length > 1) return doesNotHold(`${fields}; ${primary.length} are primary`);
  if (primary.length === 0 && records.length > 1) {
    if (probe.primaryWorkspace !== undefined && isNamed)
      return holds(`${fields}; the setting primary_workspace says which is primary`);
    const hint = probe.primaryWorkspace === undefined ? 'mediactl config set primary_workspace UID' : undefined;
    return doesNotHold(`${fields}; none is primary${isNamed ? '' : ', and one has no name'}`, { hint });
  }
  if (!isNamed) return doesNotHold(`${fields}; one has no name`);
  return primary.length === 1 ? holds(fields) : notTried(`${fields}; the only one is used as the primary one`);
}

/** Reads a value of the embed settings as the client does, and returns the error if it cannot. */
async function readSettings(
  probe: ServiceProbe,
  read: (settings: WorkspaceEmbedSettings) => string,
): Promise<Judgment> {
  const { line, body } = await probe.embedSettings();
  if (!isJsonObject(body)) return doesNotHold(`${line}, not an object`);
  try {
    return holds(`${line}, ${read(new WorkspaceEmbedSettings(body, probe.api.names))}`);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return doesNotHold(`${line}; it has ${listNames(Object.keys(body))}`);
  }
}

async function judgeRestriction(probe: ServiceProbe): Promise<Judgment> {
  const verdict = await readSettings(probe, (settings) => {
    const [field = ''] = Object.keys(settings.restrictionFields(true));
    settings.enabled;
    return `with ${field}`;
  });
  return verdict.status === 'does_not_hold'
    ? {
        ...verdict,
        hint: 'mediactl config set field_names.embed_enabled NAME; !NAME if it is true while every site may embed',
      }
    : verdict;
}

async function judgeAllowList(probe: ServiceProbe): Promise<Judgment> {
  const verdict = await readSettings(probe, ({ domains }) => `an allow-list of ${domains.length}`);
  if (verdict.status !== 'does_not_hold') return verdict;
  const record = asObject((await probe.embedSettings()).body);
  const [only, ...more] = Object.keys(record).filter((field) => Array.isArray(record[field]));
  const isKnown = new WorkspaceEmbedSettings(record, probe.api.names).hasList;
  return only && more.length === 0 && !isKnown ? { ...verdict, names: { embed_domains: only } } : verdict;
}

/** A key that reads assets and nothing else contradicts the assumption. One that does everything shows nothing. */
async function judgeScopes(probe: ServiceProbe): Promise<Judgment> {
  const answers = [
    await probe.get(paths.workspaces(), { limit: 1 }),
    await probe.get(paths.folders(probe.workspace)),
    await probe.get(paths.embedSettings(probe.workspace)),
  ];
  const refused = answers.find(({ status }) => status === 403);
  if (refused) return doesNotHold(`${refused.line}, although the key reads assets`);
  return notTried('the key reads all; only one that lacks a scope tells');
}

export const workspaceChecks: readonly AssumptionCheck[] = [
  { id: 'A05', sends: 'GET the embed settings', judge: judgeRestriction },
  { id: 'A06', sends: 'GET the embed settings', judge: judgeAllowList },
  { id: 'A10', sends: 'GET /workspaces/', judge: judgeWorkspaceRecord },
  { id: 'A17', sends: 'GET /workspaces/, the folders, the embed settings', judge: judgeScopes },
];
