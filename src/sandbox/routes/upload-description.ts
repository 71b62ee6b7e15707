import { z } from '@hono/zod-openapi';
import { maxChunkMiB } from '../../contract/limits.ts';
import { type App, uploadPath } from '../http.ts';
import type { Service } from '../service.ts';
import { jsonContent, uidParameter, uploadSession } from './schemas.ts';

const version = { 'Tus-Resumable': z.literal('1.0.0') };
const bytes = z.number().int().min(0);
const offset = z.object({ 'Upload-Offset': bytes });

/** Describes the upload routes (§4, TUS) for OpenAPI. Written by hand, since they use headers and raw bytes. */
export function describeUploads({ openAPIRegistry: registry }: App, { responseSchemas }: Service): void {
  const refusal = (description: string) => jsonContent(responseSchemas.errorAnswer, description);
  registry.registerPath({
    operationId: 'createUpload',
    summary: 'Create an upload session and its asset',
    method: 'post',
    path: uploadPath,
    request: { headers: creationHeaders },
    responses: { ...creationResponses, 402: refusal('the credit balance is depleted') },
  });
  registry.registerPath({
    operationId: 'transferUpload',
    summary: 'Send bytes at the current offset',
    method: 'patch',
    path: `${uploadPath}{uid}/`,
    request: {
      params: uidParameter,
      headers: offset.extend(version),
      body: { required: true, content: { 'application/offset+octet-stream': { schema: z.string() } } },
    },
    responses: {
      204: {
        description: 'the bytes are saved; the last response includes the checksum',
        headers: offset.extend({ ...version, 'X-Checksum-Blake3': z.string().optional() }),
      },
      400: refusal('a header is missing or malformed'),
      409: { ...refusal('the offset does not match the one in the response'), headers: offset },
      412: refusal('Tus-Resumable missing or not 1.0.0'),
      413: refusal(`over ${maxChunkMiB} MiB, or beyond Upload-Length`),
    },
  });
  const stateHeaders = offset.extend({ ...version, 'Upload-Length': bytes.optional() });
  registry.registerPath({
    operationId: 'getUploadOffset',
    summary: 'Get the current offset of an upload',
    method: 'head',
    path: `${uploadPath}{uid}/`,
    request: { params: uidParameter, headers: z.object(version) },
    responses: {
      200: { description: 'the current offset', headers: stateHeaders },
      412: { description: 'Tus-Resumable missing or not 1.0.0' },
    },
  });
}

const creationHeaders = z.object({
  ...version,
  'Upload-Length': bytes.openapi({ description: 'total bytes' }),
  'Upload-Metadata': z.string().openapi({ description: 'pairs of a key and a base64 value' }),
});

const text = (description: string) => ({ description, content: { 'text/plain': { schema: z.string() } } });

const creationResponses = {
  201: { ...jsonContent(uploadSession, 'created'), headers: z.object({ Location: z.string(), ...version }) },
  400: text('invalid or missing metadata'),
  404: text('workspace or parent folder not found'),
  412: text('Tus-Resumable missing or not 1.0.0'),
  413: text('upload exceeds the maximum allowed size'),
  503: text('storage not configured or temporarily unavailable'),
  507: text('insufficient storage space'),
};
