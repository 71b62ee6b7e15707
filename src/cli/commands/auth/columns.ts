import { escapeControls } from '../../../shared/sanitize.ts';
import { type Column, type DetailRow, type RenderContext, type Result, record } from '../../output/result.ts';
import type { ProfileConfig } from '../../settings/profile-file.ts';

/** Returns the profiles as `auth ls` prints them, without their keys. */
export const profileRecords = ({ profiles, current }: ProfileConfig) =>
  Object.entries(profiles).map(([name, { baseUrl, workspace, workspaceName, keyStore }]) => ({
    name,
    current: name === current,
    base_url: baseUrl,
    workspace_uid: workspace ?? null,
    workspace_name: workspaceName ?? null,
    key_store: keyStore,
  }));

type ProfileRecord = ReturnType<typeof profileRecords>[number];

/** Returns the workspace's name on a terminal, if the name is known, otherwise its uid. */
export const workspaceText = (
  { workspace_uid, workspace_name }: Pick<ProfileRecord, 'workspace_uid' | 'workspace_name'>,
  { isTerminal }: RenderContext,
) => escapeControls((isTerminal ? workspace_name : undefined) ?? workspace_uid ?? '');

export const profileColumns: Column<ProfileRecord>[] = [
  { field: 'current', value: ({ current }) => (current ? '*' : '') },
  { field: 'name', noTruncate: true },
  { field: 'base_url' },
  { header: 'WORKSPACE', value: workspaceText },
  { field: 'key_store' },
];

const profileRows = (profile: ProfileRecord, render: RenderContext): DetailRow[] => [
  ['profile', escapeControls(profile.name)],
  ['base url', escapeControls(profile.base_url)],
  ['workspace', workspaceText(profile, render)],
  ['key in', profile.key_store],
];

export function profileResult(config: ProfileConfig, name: string): Result {
  const profile = profileRecords(config).find((each) => each.name === name) as ProfileRecord;
  return record(profile, name, profileRows);
}
