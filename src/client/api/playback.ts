import { isJsonObject } from '../../contract/json-values.ts';
import { paths } from '../../contract/paths.ts';
import type { PlaybackInfo } from '../../contract/types.ts';
import type { ApiResponse, Purpose } from '../http/api-request.ts';
import type { Transport } from '../http/transport.ts';
import { unexpectedResponse } from '../http/unexpected-response.ts';
import { type DownloadOutcome, type DownloadSink, download, type ExpectedFile } from './download.ts';
import { fetchSmallMedia, type SmallMediaLimits } from './small-media.ts';

const playbackPurpose: Purpose = {
  action: 'play this asset',
  // "authenticated by the playback token" (§4), so no API key is sent.
  statuses: {
    401: {
      code: 'token_expired',
      problem: 'the playback token is not valid, or has expired',
    },
    403: { hint: 'mediactl assets player UID --reveal, for a token of this asset' },
  },
};

/** Client of the playback info endpoint (§4) and of signed media URLs. No request sends the API key. */
export class PlaybackApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Fetches playback info. @throws MediactlError for an error status, such as `token_expired` (exit 4) */
  async info(assetUid: string, playbackToken: string): Promise<PlaybackInfo> {
    const info = await this.#transport.json({
      method: 'POST',
      url: paths.playbackInfo(),
      json: { asset_id: assetUid, playback_token: playbackToken },
      authenticate: false,
      // The request has no side effects, so it can be retried like a read.
      retry: 'reads',
      purpose: playbackPurpose,
    });
    if (isJsonObject(info)) return info;
    throw unexpectedResponse('the playback info is not as the API has it', {
      reason: 'it is a list',
      hint: 'mediactl api /playback/info/ -f asset_id=UID -f playback_token=TOKEN',
    });
  }

  /** Downloads a signed URL into a sink. */
  download(url: URL, sink: DownloadSink, expected: ExpectedFile): Promise<DownloadOutcome> {
    return download(this.#transport, url, sink, expected);
  }

  /** Fetches a small file from a signed URL into memory. @throws MediactlError like `fetchSmallMedia` */
  fetchSmall(url: URL, bounds: SmallMediaLimits): Promise<Buffer> {
    return fetchSmallMedia(this.#transport, url, bounds);
  }

  /** Fetches a signed URL from any origin, either the whole file or only its first `firstBytes`. */
  fetchMedia(url: URL, firstBytes?: number): Promise<ApiResponse> {
    return this.#transport.exchange({
      method: 'GET',
      url,
      authenticate: false,
      purpose: { action: 'fetch this media' },
      ...(firstBytes && {
        headers: { range: `bytes=0-${firstBytes - 1}` },
        maxBodyBytes: firstBytes,
      }),
    });
  }
}
