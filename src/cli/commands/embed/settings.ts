import type { WorkspaceEmbedSettings } from '../../../client/api/embed-settings.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { type DetailRow, type Result, record } from '../../output/result.ts';

/** Reads the current workspace and its embed settings. */
export async function readSettings(context: Context) {
  const workspace = await resolveWorkspaceUid(context);
  const { embeds } = await context.api();
  return { workspace, embeds, settings: await embeds.settings(workspace) };
}

/** Returns embed settings as a record: as the service sent them, or as sentences on a terminal. */
export const settingsRecord = (workspace: string, settings: WorkspaceEmbedSettings): Result =>
  record(settings.record, workspace, (): DetailRow[] => {
    const unknown = 'unknown: mediactl embed domains ls says why';
    const domains = settings.hasList ? settings.spellings : [unknown];
    return [
      ['workspace', escapeControls(workspace)],
      ['restriction', settings.enabled ? 'on: only the domains below may embed' : 'off: every domain may embed'],
      ...(domains.length === 0 ? ['none'] : domains).map(
        (domain, at): DetailRow => [at === 0 ? 'domains' : ' ', displayText(domain)],
      ),
    ];
  });
