import { prepareSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { isWithin } from '../../definitions/artifact-types/artifact-type.ts';
import { findNewestArtifactType } from '../../definitions/artifact-types/artifact-types.ts';
import type { UploadedContentRow } from '../contents/content.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/**
 * Validates an artifact against the newest version of its type; an artifact of an unregistered type is accepted
 * unchecked.
 * @returns the version of the type; null if it isn't registered
 * @throws Refusal `invalid_artifact_metadata`, `media_type_not_allowed`, `artifact_too_large`
 */
export async function requireTypeRules(
  context: Context,
  typeKey: string,
  metadata: JsonObject,
  content: UploadedContentRow | undefined,
): Promise<number | null> {
  const type = await findNewestArtifactType(context, typeKey);
  if (type === undefined) return null;
  const errors = prepareSchema(type.metadata_schema).faultsOf(metadata);
  if (errors.length > 0) fail('invalid_artifact_metadata', { errors });
  if (content === undefined) return type.version;
  const [essence = ''] = content.media_type.split(';', 1);
  const mediaType = essence.trim().toLowerCase();
  if (!type.media_types.some((range) => isWithin(mediaType, range)))
    fail('media_type_not_allowed', { mediaType, allowed: type.media_types });
  const { size_bytes: sizeBytes } = content;
  if (type.max_bytes !== null && sizeBytes > type.max_bytes)
    fail('artifact_too_large', { maxBytes: type.max_bytes, sizeBytes });
  return type.version;
}
