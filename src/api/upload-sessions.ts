import { paths } from '../wire/paths.ts';
import { encodeMetadata, tusVersion, type UploadMetadata } from '../wire/tus.ts';
import type { UploadSession } from '../wire/types.ts';
import { identifier } from './identifier.ts';
import { foreignOrigin } from './network-error.ts';
import type { Transport } from './transport.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** What POST /upload/ answers, with the session's address made absolute. */
export type CreatedSession = UploadSession & { sessionUrl: string };

export const uploadPurpose = { action: 'upload', scope: 'Write Assets' } as const;

/** §4 Upload (TUS), the creation. The transfer is the uploader's own. */
export class UploadSessionsApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Sent once: a POST whose answer was lost may have made an asset. Only a 429 is waited out, since
   * it says that nothing was made.
   *
   * @throws MediactlError by status; `foreign_origin` where the location leaves the base URL
   */
  async create(lengthBytes: number, metadata: UploadMetadata): Promise<CreatedSession> {
    const session = await this.#transport.json<UploadSession>({
      method: 'POST',
      url: paths.upload(),
      headers: {
        'tus-resumable': tusVersion,
        'upload-length': String(lengthBytes),
        'upload-metadata': encodeMetadata(metadata),
        'content-length': '0',
      },
      purpose: uploadPurpose,
    });
    if (
      typeof session.location !== 'string' ||
      !URL.canParse(session.location, this.#transport.baseUrl.href)
    )
      throw unexpectedAnswer('the answer to the upload’s creation names no session', {
        reason: 'it lacks a `location` that can be read',
        details: session,
      });
    identifier(session.asset_uid);
    // "path of the session, may be relative; resolve against {base_url}" (§2)
    const sessionUrl = new URL(session.location, this.#transport.baseUrl);
    if (sessionUrl.origin !== this.#transport.baseUrl.origin)
      throw foreignOrigin('the location of the upload session', sessionUrl).with({
        details: { asset_uid: session.asset_uid },
      });
    return { ...session, sessionUrl: sessionUrl.href };
  }
}
