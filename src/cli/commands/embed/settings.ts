import type { Context } from '../../context.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';

/** Reads the current workspace and its embed settings. */
export async function readSettings(context: Context) {
  const workspace = await resolveWorkspaceUid(context);
  const { embeds } = await context.api();
  return { workspace, embeds, settings: await embeds.settings(workspace) };
}

export type WorkspaceEmbeds = Awaited<ReturnType<typeof readSettings>>;
