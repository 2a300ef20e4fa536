import { type Reply, reply } from '@baton/kernel/http/service';
import { FreeObject, type JsonObject } from '@baton/values/wire';
import { scimMediaType } from './scim-errors.ts';

const listUrn = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

/**
 * A SCIM message, identified in the API description by `id`. Its form is that of the schemas, which `/Schemas`
 * describes.
 * @param example shown in the API description
 */
export function scimForm(id: string, example: JsonObject) {
  return FreeObject.meta({
    id,
    type: 'object',
    'x-maxBytes': 1_048_576,
    contentMediaType: scimMediaType,
    examples: [example],
  });
}

export const ScimListResponse = scimForm('ScimListResponse', {
  schemas: [listUrn],
  totalResults: 0,
  startIndex: 1,
  itemsPerPage: 0,
  Resources: [],
});

/** A response in the media type of SCIM, without a charset. */
export function scimReply<Body extends JsonObject | undefined>(
  status: number,
  body: Body,
  headers: Record<string, string> = {},
): Reply<Body> {
  return reply(status, body, body === undefined ? headers : { 'content-type': scimMediaType, ...headers });
}

/**
 * A ListResponse (RFC 7644, section 3.4.2).
 * @param total the number of resources on all pages; @param startIndex of this page, starting at 1
 */
export function scimListReply(total: number, startIndex: number, resources: JsonObject[]): Reply<JsonObject> {
  return scimReply<JsonObject>(200, {
    schemas: [listUrn],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  });
}
