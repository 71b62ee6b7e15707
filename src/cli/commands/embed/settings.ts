import type { Context } from '../../context.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';

export async function readSettings(context: Context) {
  const workspace = await resolveWorkspaceUid(context);
  const { embeds } = await context.api();
  return { workspace, embeds, settings: await embeds.settings(workspace) };
}

export type WorkspaceEmbeds = Awaited<ReturnType<typeof readSettings>>;
