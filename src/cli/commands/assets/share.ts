import type { Command } from '@commander-js/extra-typings';
import { parsePlayables } from '../../../client/library/playables.ts';
import { assertNotBlocked, explainUnplayable, nothingToPlayError } from '../../../client/library/playback.ts';
import { asText, parseTimestamp } from '../../../contract/json-values.ts';
import { relativeTime } from '../../../contract/sanitize.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type IdOptions, idHelp, newestOption, resolveAssetUid } from '../../library/asset-ids.ts';
import { fetchPlayback } from '../../library/playback.ts';
import { type Result, record } from '../../output/result.ts';

export function share(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl share @last', 'mediactl share /Campaigns/2026/intro --json')
    .description(
      'Prints a playback URL of an asset, and when it expires. Anyone who has the URL can play the asset until then. The service sets the lifetime, usually 4 hours; the API cannot make links that last longer.',
    )
    .argument('[id]', idHelp)
    .option(...newestOption)
    .action(run((context, id, { newest }) => runShare(context, { id, newest })));
}

async function runShare(context: Context, { id, ...choice }: IdOptions & { id: string | undefined }): Promise<Result> {
  const uid = await resolveAssetUid(context, 'assets', id, choice);
  const playback = await fetchPlayback(context, uid);
  const api = await context.api();
  await assertNotBlocked(api, uid, playback);
  const playables = parsePlayables(playback.info, api.transport.baseUrl);
  const [best] = playables.urls;
  if (!best) throw await explainUnplayable(api, uid, playback, nothingToPlayError(uid, playback.info, playables));
  const expiresAt = asText(best.expiresAt) ?? null;
  const expiry = parseTimestamp(expiresAt);
  const when = `${relativeTime(expiresAt, context.clock.now())} (${expiresAt})`;
  const until = 'Until then, anyone who has it can play the asset. The API cannot make it last longer.';
  if (expiry === undefined) context.terminal.info(`the service does not say when this link expires. ${until}`);
  else if (expiry > context.clock.now()) context.terminal.info(`this link expires ${when}. ${until}`);
  else
    context.terminal.warn(
      `this link expired ${when}, by the clock of this machine: mediactl doctor, to compare the clocks`,
    );
  return record({ asset_uid: uid, url: best.url.href, expires_at: expiresAt }, best.url.href, ({ url }) => `${url}\n`);
}
