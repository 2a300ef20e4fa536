import { namesTag } from '@baton/kernel/http/etag';
import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import type { ResourceKind } from './attributes.ts';

/** The id, the location, the version and the timestamps that every resource has (RFC 7643, section 3.1). */

type Configured = Pick<Context, 'settings'>;
type Headers = Readonly<Record<string, string | string[] | undefined>>;

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The `meta` of a resource in a response. */
export function metaOf(
  context: Configured,
  kind: ResourceKind,
  row: { id: string; created_at: string; modified_at: string; version: number },
): JsonObject {
  return {
    resourceType: kind.name,
    created: row.created_at,
    lastModified: row.modified_at,
    location: locationOf(context, kind, row.id),
    version: versionTag(row.version),
  };
}

export function locationOf(context: Configured, kind: ResourceKind, id: string): string {
  return `${scimBase(context)}${kind.endpoint}/${id}`;
}

/** The base address of all SCIM resources, without a trailing slash. */
export function scimBase({ settings }: Configured): string {
  return `${settings.issuer}/scim/v2`;
}

export function versionTag(version: number): string {
  return `W/"${version}"`;
}

/**
 * @throws Refusal `scim_version_mismatch` if the request's If-Match has a different version
 */
export function requireMatch(headers: Headers, version: number): void {
  const wanted = headers['if-match'];
  if (wanted !== undefined && !namesTag(wanted, versionTag(version))) fail('scim_version_mismatch');
}

/** Whether the If-None-Match of the request matches this version, in which case the response is 304. */
export function isUnchanged(headers: Headers, version: number): boolean {
  return namesTag(headers['if-none-match'], versionTag(version));
}

/** @throws Refusal `scim_not_found` for an id that no resource can have */
export function parseId(id: string): string {
  return isId(id) ? id.toLowerCase() : fail('scim_not_found');
}

export function isId(text: string): boolean {
  return uuidForm.test(text);
}
