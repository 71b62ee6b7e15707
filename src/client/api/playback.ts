import { paths } from '../../contract/paths.ts';
import type { PlaybackInfo } from '../../contract/types.ts';
import { isJsonObject } from '../../shared/json-values.ts';
import { TimeoutError, withTimeout } from '../../shared/retry.ts';
import { CodedError } from '../errors.ts';
import type { Purpose, ReceivedResponse } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { Resource } from './resource.ts';

const playbackPurpose: Purpose = {
  action: 'play this asset',
  // "authenticated by the playback token" (§4), so no API key is sent.
  statuses: {
    401: { cause: 'token_expired', problem: 'the playback token is invalid or has expired' },
    403: { remedy: ['get_playback_token'] },
  },
};

const newUrlHint = 'run it again, to get a new URL';

/** Purpose of a request for a signed URL. No API key is sent, and its server need not be the service. */
export const mediaPurpose: Purpose = {
  action: 'fetch this media',
  statuses: {
    403: { problem: 'the server of this media denied the request', hint: newUrlHint },
    404: { problem: 'the server of this media does not have it', hint: newUrlHint },
    410: { problem: 'the server of this media no longer has it', hint: newUrlHint },
  },
};

/** Limits of a file that is fetched into memory while the user waits. `interruption` aborts on Ctrl-C. */
type SmallMediaLimits = { maxBytes: number; timeoutMs: number; interruption: AbortSignal };

/** Client of the playback info endpoint (§4) and of signed media URLs. No request sends the API key. */
export class PlaybackApi extends Resource {
  /** Fetches playback info. @throws CodedError for an error status, such as `token_expired` (exit 4) */
  async info(assetUid: string, playbackToken: string): Promise<PlaybackInfo> {
    const info = await this.transport.json({
      method: 'POST',
      url: paths.playbackInfo(),
      json: { asset_id: assetUid, playback_token: playbackToken },
      authenticate: false,
      // The request has no side effects, so it can be retried like a read.
      retry: 'reads',
      purpose: playbackPurpose,
    });
    if (isJsonObject(info)) return info;
    throw unexpectedResponse('the playback info has an unexpected format', {
      reason: 'it is a list',
    });
  }

  /**
   * Fetches a small file from a signed URL into memory. Connects only to public addresses or to the service itself.
   *
   * @throws CodedError for an error status or network failure, `rejected` or `private_address` (exit 6), or
   *   `timeout` (exit 10)
   */
  async fetchSmall(url: URL, { maxBytes, timeoutMs, interruption }: SmallMediaLimits): Promise<Buffer> {
    const limits = { isPublic: true, maxBodyBytes: maxBytes + 1 };
    const send = (signal: AbortSignal) => this.transport.send({ ...mediaRequest(url), ...limits, signal });
    const { bytes } = await withTimeout(timeoutMs, send, { signal: interruption }).catch((error) => {
      if (!(error instanceof TimeoutError)) throw error;
      throw new CodedError(`${url.host} is too slow`, {
        code: 'timeout',
        reason: `it did not send the media within ${timeoutMs / 1000} s`,
        hint: 'run it again',
      });
    });
    if (bytes.length <= maxBytes) return Buffer.from(bytes);
    const reason = `it is larger than ${maxBytes} bytes`;
    throw new CodedError(`${url.host} sent a file that is too large to show`, { code: 'rejected', reason });
  }

  /** Fetches a signed URL from any origin, either the whole file or only its first `firstBytes`. */
  fetchMedia(url: URL, firstBytes?: number): Promise<ReceivedResponse> {
    return this.transport.exchange({
      ...mediaRequest(url),
      ...(firstBytes && { headers: { range: `bytes=0-${firstBytes - 1}` }, maxBodyBytes: firstBytes }),
    });
  }
}

const mediaRequest = (url: URL) => ({ method: 'GET', url, authenticate: false, purpose: mediaPurpose }) as const;
