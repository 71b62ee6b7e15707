import { MediactlError, usageError } from '../../../client/errors.ts';
import { parseHttpUrl } from '../../../contract/http-url.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { detectProtocol, type GraphicsProtocol, hasTrueColor } from '../../output/pictures/protocol.ts';

const maxBytes = 5 * 1024 * 1024;
const maxRows = 24;

/** Timeouts for `thumb --show` and for a preview, which must not delay the asset's fields. */
const [showTimeoutMs, previewTimeoutMs] = [30_000, 2_500];

/** @throws MediactlError `usage` (exit 2) if stdout cannot show pictures, or the setting `pictures` is `never` */
export function requireProtocol(context: Context): GraphicsProtocol {
  const { settings, host } = context;
  if (!canShowPictures(context))
    throw usageError(
      'a picture can be shown only on a terminal',
      '-o FILE, to save it',
      'this is a pipe, a file, a machine-readable format, or TERM=dumb',
    );
  if (settings.pictures === 'never')
    throw usageError(
      'pictures are turned off',
      '-o FILE, to save it',
      `${settings.resolver.resolve('pictures').origin} sets pictures to never`,
    );
  return configuredProtocol(context) ?? (detectProtocol(host.environment) || 'blocks');
}

/**
 * Renders the thumbnail that is shown above an asset's fields. Returns undefined if pictures are turned off, if the
 * terminal is not known to support them, or if the thumbnail cannot be fetched.
 */
export async function renderPreview(context: Context, asset: Asset): Promise<string | undefined> {
  const { settings, host, terminal } = context;
  if (settings.pictures === 'never' || !canShowPictures(context)) return undefined;
  const protocol = configuredProtocol(context) ?? detectProtocol(host.environment);
  const url = parseHttpUrl(asset.thumbnail_url);
  if (!protocol || !url) return undefined;
  const options = { protocol, rows: Math.floor(terminal.rows / 2), timeoutMs: previewTimeoutMs };
  return renderPicture(context, url, options).catch((error) => {
    // A missing preview must not hide the fields, but Ctrl-C aborts the whole command.
    if (context.signal.aborted) throw error;
    return undefined;
  });
}

/**
 * Renders a thumbnail for `thumb --show`.
 *
 * @throws MediactlError `not_shown` (exit 1) if it is not an image, or another code if it cannot be fetched
 */
export const renderThumbnail = (context: Context, url: URL, protocol: GraphicsProtocol) =>
  renderPicture(context, url, { protocol, rows: context.terminal.rows - 1, timeoutMs: showTimeoutMs });

const canShowPictures = ({ isHumanOutput, settings: { outputOptions }, host }: Context) =>
  isHumanOutput && !outputOptions.fields && outputOptions.jq === undefined && host.environment.TERM !== 'dumb';

/** Returns the protocol that the `pictures` setting names; undefined for `auto` and `never`. */
const configuredProtocol = ({ settings: { pictures } }: Context): GraphicsProtocol | undefined =>
  pictures === 'auto' || pictures === 'never' ? undefined : pictures;

async function renderPicture(
  context: Context,
  url: URL,
  { protocol, rows, timeoutMs }: { protocol: GraphicsProtocol; rows: number; timeoutMs: number },
): Promise<string> {
  const { playback } = await context.mediaApi();
  const bytes = await playback.fetchSmall(url, { maxBytes, timeoutMs, interruption: context.signal });
  const { renderPicture: drawPicture } = await import('../../output/picture.lazy.ts');
  const maxSize = { columns: context.terminal.columns, rows: Math.max(1, Math.min(maxRows, rows)) };
  const picture = drawPicture(bytes, { ...maxSize, protocol, hasTrueColor: hasTrueColor(context.host.environment) });
  if ('text' in picture) return picture.text;
  throw new MediactlError('the thumbnail cannot be shown', { code: 'not_shown', reason: picture.problem });
}
