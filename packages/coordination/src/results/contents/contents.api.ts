import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { ArtifactUpload, type WrittenContent } from './content.ts';
import { createUpload, receiveContent } from './uploads.ts';

export const contentsApi = [
  endpoint({
    id: 'uploadArtifactContent',
    method: 'PUT',
    path: '/artifact-contents',
    summary: 'Upload bytes that an artifact can then reference with `contentRef`.',
    description:
      'The body is stored unchanged, with its Content-Type. Bytes that no artifact references are deleted some time ' +
      'after `expiresAt`.',
    permission: 'artifacts.write',
    bytes: true,
    returns: { 201: ArtifactUpload },
    errors: ['content_store_unavailable'],
    example: 'Findings',
    around: (_, surroundings: Surroundings<WrittenContent, Context>) => receiveContent(surroundings),
    handle: ({ prepared }, context) => createUpload(context, prepared),
  }),
];
