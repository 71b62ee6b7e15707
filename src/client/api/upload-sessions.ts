import { paths } from '../../contract/paths.ts';
import { encodeMetadata, tusVersion, type UploadMetadata } from '../../contract/tus.ts';
import { asNumber, asObject, asText, parseTimestamp } from '../../shared/json-values.ts';
import { CodedError } from '../errors.ts';
import type { Purpose, ReceivedResponse } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { parseJsonResponse } from '../http/json.ts';
import type { ResponseHeaders } from '../http/rate-limit-headers.ts';
import { parseIdentifier, Resource } from './resource.ts';

/** A new upload session (§2 Upload session), with an absolute URL. */
export type CreatedSession = {
  uid: string;
  sessionUrl: string;
  assetUid: string;
  /** Expiry time (ISO 8601), or undefined if the service does not report it. */
  expiresAt: string | undefined;
};

const uploadPurpose = { action: 'upload', scope: 'Write Assets' } as const;

export const transferPurpose: Purpose = {
  ...uploadPurpose,
  statuses: {
    413: {
      problem: 'the chunk is too large for the service',
      remedy: ['use_smaller_chunks'],
    },
  },
};

/** An interrupted creation whose response is lost would leave an empty asset. */
const creationGraceMs = 1_000;

/**
 * Returns the URL at the service's own origin if a service behind a proxy that ends TLS names it with `http:`. It has the
 * port of the base URL, or none.
 */
function withTls(url: URL, baseUrl: URL): URL {
  const isBehindTls = baseUrl.protocol === 'https:' && url.protocol === 'http:' && url.hostname === baseUrl.hostname;
  const isSamePort = ['', baseUrl.port || '443'].includes(url.port);
  return isBehindTls && isSamePort ? new URL(url.pathname + url.search, baseUrl) : url;
}

/** Client for creating and inspecting upload sessions (§4 Upload, TUS). The uploader transfers the bytes itself. */
export class UploadSessionsApi extends Resource {
  /**
   * Creates an upload session. The POST is not retried here after a lost response, because it might have created an
   * asset. It is retried after a 429, which guarantees that nothing was created.
   *
   * @throws CodedError for an error status, `origin_mismatch` (exit 13) if the session URL is on another origin,
   *   or `session_mismatch` (exit 13) if the session is for another number of bytes
   */
  async create(lengthBytes: number, metadata: UploadMetadata, signal?: AbortSignal): Promise<CreatedSession> {
    const response = await this.transport.send({
      method: 'POST',
      url: paths.upload(),
      headers: {
        'tus-resumable': tusVersion,
        'upload-length': String(lengthBytes),
        'upload-metadata': encodeMetadata(metadata),
        'content-length': '0',
      },
      purpose: uploadPurpose,
      signal,
      abortGraceMs: creationGraceMs,
    });
    const session = asObject(parseJsonResponse(response));
    const assetUid = parseIdentifier(session.asset_uid);
    const totalBytes = asNumber(session.total_size) ?? lengthBytes;
    if (totalBytes !== lengthBytes)
      throw new CodedError('the service created an upload session of the wrong size', {
        code: 'session_mismatch',
        reason: `the file has ${lengthBytes} bytes, the session ${totalBytes}; nothing was uploaded`,
        remedy: ['show_asset', assetUid, 'to see the asset that it created'],
        details: { asset_uid: assetUid },
      });
    const expiresAt = parseTimestamp(session.expires_at);
    return {
      uid: asText(session.uid) ?? assetUid,
      sessionUrl: this.#sessionUrl(response, session.location, assetUid),
      assetUid,
      expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
    };
  }

  /**
   * Returns the "session URL from the Location header" (§4), or else from `location` in the body (§2), which is used too
   * if the header names another origin.
   */
  #sessionUrl({ headers }: ReceivedResponse, bodyLocation: unknown, assetUid: string): string {
    const { baseUrl } = this.transport;
    // "path of the session, may be relative; resolve against {base_url}" (§2)
    const urls = [headers.location, asText(bodyLocation)].flatMap((location) =>
      location !== undefined && URL.canParse(location, baseUrl.href)
        ? [withTls(new URL(location, baseUrl), baseUrl)]
        : [],
    );
    const own = urls.find(({ origin }) => origin === baseUrl.origin);
    const [foreign] = urls;
    if (own) return own.href;
    if (foreign === undefined)
      throw unexpectedResponse('the service created an upload but returned no session', {
        reason: 'the response has no valid Location',
        details: { asset_uid: assetUid },
      });
    throw new CodedError(`the service named an address on another origin for the upload: ${foreign.origin}`, {
      code: 'origin_mismatch',
      reason: 'the service, or a proxy in front of it, names a wrong address; your API key is not sent there',
      remedy: ['check_base_url'],
      details: { asset_uid: assetUid },
    });
  }

  /** Fetches the headers of a session ("HEAD … returns the current Upload-Offset", §4), or undefined if refused. */
  async fetchHeaders(sessionUrl: string, signal?: AbortSignal): Promise<ResponseHeaders | undefined> {
    const { status, headers } = await this.transport.exchange({
      method: 'HEAD',
      url: sessionUrl,
      headers: { 'tus-resumable': tusVersion },
      purpose: transferPurpose,
      signal,
    });
    return status < 300 ? headers : undefined;
  }
}
