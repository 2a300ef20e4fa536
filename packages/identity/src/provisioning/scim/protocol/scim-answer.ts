import { FreeObject, type JsonObject } from '@baton/kernel/wire';
import { type Reply, reply } from '@baton/kernel/service';
import { fail } from '../../errors.ts';
import { scimMediaType } from './scim-errors.ts';

/** A SCIM message: its form is that of the schemas, which `/Schemas` tells. */
export const ScimDocument = FreeObject.meta({ type: 'object', contentMediaType: scimMediaType });

/** An answer in the media type of SCIM, without a charset. */
export function scimReply<Body extends JsonObject | undefined>(
  status: number,
  body: Body,
  headers: Record<string, string> = {},
): Reply<Body> {
  return reply(status, body, body === undefined ? headers : { 'content-type': scimMediaType, ...headers });
}

export function versionTag(version: number): string {
  return `W/"${version}"`;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** @throws Refusal `scim_version_mismatch` when If-Match names another version; without the header all is well */
export function requireMatch(headers: Headers, version: number): void {
  const wanted = headers['if-match'];
  if (typeof wanted === 'string' && !namesVersion(wanted, version)) fail('scim_version_mismatch');
}

/** Whether the client has this version already. */
export function isUnchanged(headers: Headers, version: number): boolean {
  const known = headers['if-none-match'];
  return typeof known === 'string' && namesVersion(known, version);
}

function namesVersion(header: string, version: number): boolean {
  return header.split(',').some((tag) => {
    const bare = tag.trim().replace(/^W\//, '');
    return bare === '*' || bare === `"${version}"`;
  });
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @throws Refusal `scim_not_found` for what can be no id */
export function readId(id: string): string {
  return uuidForm.test(id) ? id.toLowerCase() : fail('scim_not_found');
}

export function isId(text: string): boolean {
  return uuidForm.test(text);
}
