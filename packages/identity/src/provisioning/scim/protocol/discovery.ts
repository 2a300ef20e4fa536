import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type ResourceKind, type Schema, sameName } from './attributes.ts';
import { scimBase } from './resource-meta.ts';
import { groupKind, schemas, userKind } from './schemas.ts';

/**
 * The documents that describe the service (RFC 7643, sections 5 to 7), generated from the schemas that it uses itself.
 */

const urnPrefix = 'urn:ietf:params:scim:schemas:core:2.0:';
const kinds = [userKind, groupKind];

type Configured = Pick<Context, 'settings'>;

export function getServiceProviderConfig(context: Configured): JsonObject {
  return {
    schemas: [`${urnPrefix}ServiceProviderConfig`],
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
    meta: { resourceType: 'ServiceProviderConfig', location: `${scimBase(context)}/ServiceProviderConfig` },
  };
}

export function listResourceTypes(context: Configured): JsonObject[] {
  return kinds.map((kind) => resourceTypeDocument(context, kind));
}

/** @throws Refusal `scim_not_found` */
export function getResourceType(context: Configured, name: string): JsonObject {
  const kind = kinds.find((one) => sameName(one.name, name)) ?? fail('scim_not_found');
  return resourceTypeDocument(context, kind);
}

export function listSchemas(context: Configured): JsonObject[] {
  return schemas.map((schema) => schemaDocument(context, schema));
}

/** @throws Refusal `scim_not_found` */
export function getSchema(context: Configured, urn: string): JsonObject {
  return schemaDocument(context, schemas.find((one) => sameName(one.urn, urn)) ?? fail('scim_not_found'));
}

function resourceTypeDocument(context: Configured, kind: ResourceKind): JsonObject {
  const { name, endpoint, core, extensions } = kind;
  return {
    schemas: [`${urnPrefix}ResourceType`],
    id: name,
    name,
    endpoint,
    description: core.description,
    schema: core.urn,
    schemaExtensions: extensions.map(({ urn }) => ({ schema: urn, required: false })),
    meta: { resourceType: 'ResourceType', location: `${scimBase(context)}/ResourceTypes/${name}` },
  };
}

function schemaDocument(context: Configured, { urn, name, description, attributes }: Schema): JsonObject {
  return {
    schemas: [`${urnPrefix}Schema`],
    id: urn,
    name,
    description,
    attributes: structuredClone(attributes) as unknown as JsonObject[],
    meta: { resourceType: 'Schema', location: `${scimBase(context)}/Schemas/${urn}` },
  };
}
