import { z } from 'zod';
import { Timestamp } from '@baton/values/wire';
import type { ContentFacts } from '../content-store.ts';

/** Uploaded bytes that no artifact references yet. See docs/reference/artifacts.md#upload. */
export const ArtifactUpload = z
  .strictObject({
    contentRef: z
      .string()
      .meta({ description: 'The value for `contentRef` in artifacts of the same uploader.' }),
    sizeBytes: z.int(),
    mediaType: z.string(),
    sha256: z.string(),
    expiresAt: Timestamp,
  })
  .meta({ id: 'ArtifactUpload' });
export type ArtifactUpload = z.infer<typeof ArtifactUpload>;

/** Bytes that this request wrote to the store, and that no upload owns yet. */
export interface WrittenContent extends ContentFacts {
  readonly contentId: string;
  readonly mediaType: string;
}

/** The bytes of a reference. */
export interface UploadedContentRow {
  content_id: string;
  media_type: string;
  sha256: string;
  size_bytes: number;
}

export const contentRefOf = (uploadId: string) => `cref_${uploadId}`;

/** The id in a reference; undefined if it is malformed. */
export function uploadIdOf(contentRef: string): string | undefined {
  return /^cref_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(contentRef)?.[1];
}
