import { paths } from '../wire/paths.ts';
import type { PlaybackInfo } from '../wire/types.ts';
import { type Downloaded, download, type Sink } from './download.ts';
import type { ApiResponse } from './messages.ts';
import type { Transport } from './transport.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** §4 Playback info, and the signed media URLs that it hands out. Neither ever sees the key. */
export class PlaybackApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @throws MediactlError by status; `unexpected_answer` where a list of it is none */
  async info(assetUid: string, playbackToken: string): Promise<PlaybackInfo> {
    const info = await this.#transport.json<PlaybackInfo>({
      method: 'POST',
      url: paths.playbackInfo(),
      json: { asset_id: assetUid, playback_token: playbackToken },
      authenticate: false,
      // It changes nothing, so it may be repeated like a read.
      retry: 'reads',
      purpose: { action: 'play this asset' },
    });
    for (const name of ['chapters', 'variants'] as const) assertRecords(name, info[name]);
    return info;
  }

  /** Fetches a signed URL whole, into a sink. */
  download(url: URL, sink: Sink): Promise<Downloaded> {
    return download(this.#transport, url, sink);
  }

  /** Fetches from a signed URL, wherever it points: whole, or its first bytes. */
  media(url: URL, firstBytes?: number): Promise<ApiResponse> {
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

function assertRecords(name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null))
    return;
  throw unexpectedAnswer('the playback info is not as the API has it', {
    reason: `its ${name} are no list of records`,
    hint: 'mediactl api /playback/info/ -f asset_id=UID -f playback_token=TOKEN',
  });
}
