import type { JsonObject } from '@baton/kernel/wire';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { endpoint } from '../../context.ts';
import { fail } from '../../errors.ts';
import { listResponse } from './listing.ts';
import { ScimDocument, scimReply } from './scim-answer.ts';
import { groupKind, type ResourceKind, sameName, type Schema, schemas, userKind } from './schemas.ts';
import { scimBase } from '../users/user-view.ts';

/** What the service can do (RFC 7643, sections 5 to 7), from the description that it follows itself. */

const scim = { root: true, auth: 'provisioning', method: 'GET' } as const;
const filterQuery = { filter: z.string().optional() };
const metaUrn = 'urn:ietf:params:scim:schemas:core:2.0:';

export const readConfig = endpoint({
  id: 'getScimServiceProviderConfig',
  ...scim,
  path: '/scim/v2/ServiceProviderConfig',
  summary: 'What this SCIM service supports.',
  returns: { 200: ScimDocument },
  handle: (_input, context) =>
    scimReply(200, {
      schemas: [`${metaUrn}ServiceProviderConfig`],
      documentationUri: 'https://www.rfc-editor.org/rfc/rfc7644',
      patch: { supported: true },
      bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: context.settings.IAM_SCIM_MAX_PAGE_SIZE },
      changePassword: { supported: false },
      sort: { supported: true },
      etag: { supported: true },
      authenticationSchemes: [
        {
          type: 'oauthbearertoken',
          name: 'OAuth bearer token',
          description: 'An access token of the SCIM audience, or a provisioning token.',
          specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
          primary: true,
        },
      ],
      meta: {
        resourceType: 'ServiceProviderConfig',
        location: `${scimBase(context)}/ServiceProviderConfig`,
      },
    }),
});

export const listResourceTypes = endpoint({
  id: 'listScimResourceTypes',
  ...scim,
  path: '/scim/v2/ResourceTypes',
  summary: 'The kinds of resources.',
  query: filterQuery,
  returns: { 200: ScimDocument },
  errors: ['scim_filter_forbidden'],
  handle({ query }, context) {
    if (query.filter !== undefined) fail('scim_filter_forbidden');
    return everything([userKind, groupKind].map((kind) => resourceType(context, kind)));
  },
});

export const readResourceType = endpoint({
  id: 'getScimResourceType',
  ...scim,
  path: '/scim/v2/ResourceTypes/{name}',
  summary: 'One kind of resource.',
  params: { name: z.string() },
  returns: { 200: ScimDocument },
  errors: ['scim_not_found'],
  handle({ params }, context) {
    const kind =
      [userKind, groupKind].find(({ name }) => sameName(name, params.name)) ?? fail('scim_not_found');
    return scimReply(200, resourceType(context, kind));
  },
});

export const listSchemas = endpoint({
  id: 'listScimSchemas',
  ...scim,
  path: '/scim/v2/Schemas',
  summary: 'The attributes of all resources.',
  query: filterQuery,
  returns: { 200: ScimDocument },
  errors: ['scim_filter_forbidden'],
  handle({ query }, context) {
    if (query.filter !== undefined) fail('scim_filter_forbidden');
    return everything(schemas.map((schema) => schemaDocument(context, schema)));
  },
});

function everything(documents: JsonObject[]) {
  return scimReply(200, listResponse(documents.length, 1, documents));
}

function resourceType(
  context: Context,
  { name, endpoint: path, core, extensions }: ResourceKind,
): JsonObject {
  return {
    schemas: [`${metaUrn}ResourceType`],
    id: name,
    name,
    endpoint: path,
    description: core.description,
    schema: core.urn,
    schemaExtensions: extensions.map(({ urn }) => ({ schema: urn, required: false })),
    meta: { resourceType: 'ResourceType', location: `${scimBase(context)}/ResourceTypes/${name}` },
  };
}

export function schemaDocument(context: Context, { urn, name, description, attributes }: Schema): JsonObject {
  return {
    schemas: [`${metaUrn}Schema`],
    id: urn,
    name,
    description,
    attributes: structuredClone(attributes) as unknown as JsonObject[],
    meta: { resourceType: 'Schema', location: `${scimBase(context)}/Schemas/${urn}` },
  };
}

export const readSchema = endpoint({
  id: 'getScimSchema',
  ...scim,
  path: '/scim/v2/Schemas/{urn}',
  summary: 'The attributes of one schema.',
  params: { urn: z.string() },
  returns: { 200: ScimDocument },
  errors: ['scim_not_found'],
  handle({ params }, context) {
    const schema = schemas.find(({ urn }) => sameName(urn, params.urn)) ?? fail('scim_not_found');
    return scimReply(200, schemaDocument(context, schema));
  },
});

export const discoveryApi = [readConfig, listResourceTypes, readResourceType, listSchemas, readSchema];
