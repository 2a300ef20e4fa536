import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { ArtifactUpload, type WrittenContent } from './content.ts';
import { createUpload, receiveContent } from './uploads.ts';

export const contentsApi = [
  endpoint({
    id: 'uploadArtifactContent',
    method: 'PUT',
    path: '/artifact-contents',
    summary: 'Upload the bytes of an artifact; name them in it by `contentRef`.',
    description:
      'The body is stored as it is, with its Content-Type. Without an artifact that names them, the bytes are deleted some time after `expiresAt`.',
    permission: 'artifacts.write',
    bytes: true,
    returns: { 201: ArtifactUpload },
    errors: ['content_store_unavailable'],
    example: 'Findings',
    around: (_, surroundings: Surroundings<WrittenContent, Context>) => receiveContent(surroundings),
    handle: ({ prepared }, context) => createUpload(context, prepared),
  }),
];
