import { z } from 'zod';
import { Timestamp } from '@baton/values/wire';
import type { ContentFacts } from '../content-store.ts';

/** Bytes that were uploaded and wait for an artifact that names them (core, section 15). */
export const ArtifactUpload = z
  .strictObject({
    contentRef: z.string().meta({ description: 'For `contentRef` of artifacts of the same uploader.' }),
    sizeBytes: z.int(),
    mediaType: z.string(),
    sha256: z.string(),
    expiresAt: Timestamp,
  })
  .meta({ id: 'ArtifactUpload' });
export type ArtifactUpload = z.infer<typeof ArtifactUpload>;

/** Bytes that were written to the store for this request, and that no upload owns yet. */
export interface WrittenContent extends ContentFacts {
  readonly contentId: string;
  readonly mediaType: string;
}

/** Bytes behind a reference. */
export interface UploadedContentRow {
  content_id: string;
  media_type: string;
  sha256: string;
  size_bytes: number;
}

export const contentRefOf = (uploadId: string) => `cref_${uploadId}`;

/** The id in a reference, undefined when it has another form. */
export function uploadIdOf(contentRef: string): string | undefined {
  return /^cref_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(contentRef)?.[1];
}
