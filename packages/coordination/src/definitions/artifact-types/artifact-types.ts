import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { lockVersions } from '../../organisation/version-lock.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type ArtifactType,
  type ArtifactTypeRef,
  type ArtifactTypeRow,
  artifactTypeOf,
  isMediaTypeRange,
  mediaTypesMax,
  metadataSchemaBytesMax,
  type NewArtifactType,
} from './artifact-type.ts';
import { artifactTypeCreated } from './artifact-types.events.ts';
import { findArtifactType, findArtifactTypes, insertArtifactType } from './artifact-types.sql.ts';

/**
 * Creates the next version of an artifact type; versions never change (docs/reference/definitions.md#artifact-types).
 * @throws Refusal `invalid_artifact_type`, `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `invalid_json_schema`, `secret_material_rejected`
 */
export async function createArtifactType(context: Context, request: NewArtifactType): Promise<ArtifactType> {
  const { db, tenantId, caller } = context;
  const { key, displayName, description, metadataSchema } = request;
  if (displayName.trim() === '') fail('invalid_artifact_type', { field: 'displayName' });
  checkStoredSchema(metadataSchema, { field: 'metadataSchema', bytesMax: metadataSchemaBytesMax });
  const mediaTypes = parseMediaTypes(request.mediaTypes);
  const maxBytes = parseMaxBytes(request.maxBytes ?? null);
  await lockVersions(context, 'artifact_types', key);
  const values = { displayName, description, metadataSchema, mediaTypes, maxBytes };
  const ids = { id: newId(), tenantId, key, createdBy: caller.principalId };
  const row = (await db.row(insertArtifactType({ ...values, ...ids }))) as ArtifactTypeRow;
  emit(
    context,
    artifactTypeCreated,
    { entityId: row.id },
    {
      key,
      version: row.version,
      mediaTypes,
      maxBytes,
      declaresMetadataSchema: Object.keys(metadataSchema).length > 0,
    },
  );
  return artifactTypeOf(row);
}

/** Lower-cased, because media types are compared in lower case, and without duplicates. */
function parseMediaTypes(sent: readonly string[]): string[] {
  const field = 'mediaTypes';
  if (sent.length === 0 || sent.length > mediaTypesMax)
    fail('invalid_artifact_type', { field, minItems: 1, maxItems: mediaTypesMax });
  const mediaTypes = sent.map((one) => one.toLowerCase());
  const wrong = mediaTypes.findIndex((one) => !isMediaTypeRange(one));
  if (wrong >= 0) fail('invalid_artifact_type', { field: `${field}[${wrong}]` });
  return [...new Set(mediaTypes)];
}

function parseMaxBytes(sent: number | null): number | null {
  if (sent === null || (Number.isSafeInteger(sent) && sent >= 1)) return sent;
  return fail('invalid_artifact_type', { field: 'maxBytes', min: 1 });
}

/** A page of artifact types, all versions. @throws Refusal `invalid_cursor` */
export async function listArtifactTypes(
  { db, tenantId }: Context,
  query: { key?: string | undefined; package?: string | undefined },
  page: Page,
): Promise<ItemPage<ArtifactType>> {
  const found = findArtifactTypes(tenantId, { key: query.key, package_key: query.package }, page);
  return listPage(db, found, artifactTypeOf);
}

/** The newest version of a key; undefined if it isn't registered. */
export function findNewestArtifactType(
  { db, tenantId }: Context,
  key: string,
): Promise<ArtifactTypeRow | undefined> {
  return db.row(findArtifactType(tenantId, { id: null, key, version: null }));
}

/** @throws Refusal `not_found` */
export async function getArtifactType(
  { db, tenantId }: Context,
  ref: ArtifactTypeRef,
): Promise<ArtifactType> {
  const row = await db.row(findArtifactType(tenantId, ref));
  return row === undefined ? fail('not_found') : artifactTypeOf(row);
}
