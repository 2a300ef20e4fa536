import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { DisplayName, TypeKey } from '@baton/values/keys';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { PackageLink } from '../../organisation/package-link.ts';
import type { Tables } from '../../service/schema.ts';

export const metadataSchemaBytesMax = 16_384;
export const mediaTypesMax = 50;
const mediaTypeCharactersMax = 255;

/**
 * The rules for artifacts of one type: their metadata, media types and size
 * (docs/reference/definitions.md#artifact-types).
 */
export const ArtifactType = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    key: z.string(),
    version: z.int(),
    displayName: z.string(),
    description: z.string(),
    metadataSchema: FreeObject,
    mediaTypes: z.array(z.string()),
    maxBytes: z
      .int()
      .nullable()
      .meta({ description: 'The maximum size of the content; null applies the limit of the service.' }),
    createdBy: Uuid,
    createdAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'ArtifactType' });
export type ArtifactType = z.infer<typeof ArtifactType>;

/** The number and format of media types are checked later, with their own code. */
const mediaTypes = z
  .array(z.string().max(1000))
  .max(1000)
  .meta({ description: `From 1 to ${mediaTypesMax}, each like text/plain, image/* or */*.` });

export const NewArtifactType = z
  .strictObject({
    key: TypeKey,
    displayName: DisplayName,
    description: z.string().max(2000).default(''),
    metadataSchema: z.unknown().meta({ type: 'object', 'x-maxBytes': metadataSchemaBytesMax }).default({}),
    mediaTypes,
    maxBytes: z.number().nullish().meta({ description: 'The maximum size of the content, at least 1.' }),
  })
  .meta({ id: 'NewArtifactType' });
export type NewArtifactType = z.output<typeof NewArtifactType>;

export type ArtifactTypeRow = RowOf<
  Tables['artifact_types'],
  { metadata_schema: JsonObject; package: PackageLink | null }
>;

export const artifactTypeOf = wireMapper<ArtifactTypeRow>()(ArtifactType, {});

const mediaTypeToken = '[a-z0-9][a-z0-9!#$&^_.+-]{0,126}';
const mediaTypeForm = new RegExp(`^(\\*/\\*|${mediaTypeToken}/(\\*|${mediaTypeToken}))$`);

/** Whether a lower-case string is a media type, a range such as `image/*`, or the range of all types. */
export function isMediaTypeRange(text: string): boolean {
  return text.length <= mediaTypeCharactersMax && mediaTypeForm.test(text);
}

/** An artifact type in a path: its id, its key (the newest version), or `key@version`. Any other text matches none. */
export interface ArtifactTypeRef {
  readonly id: string | null;
  readonly key: string | null;
  readonly version: number | null;
}

export const ArtifactTypeRef = z
  .string()
  .min(1)
  .max(100)
  .transform(parseArtifactTypeRef)
  .meta({ description: 'The id of the type, its key for the newest version, or key@version.' });

export function parseArtifactTypeRef(text: string): ArtifactTypeRef {
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
  const [, key = null, version = null] = /^([a-z0-9][a-z0-9_-]{0,62})(?:@([1-9]\d{0,8}))?$/.exec(text) ?? [];
  return { id: isId ? text.toLowerCase() : null, key, version: version === null ? null : Number(version) };
}
/** Whether `range` is contained in `other`: `image/png` and `image/*` in `image/*`. */
export function isWithin(range: string, other: string): boolean {
  if (other === '*/*' || range === other) return true;
  return other.endsWith('/*') && range.startsWith(other.slice(0, -1));
}
