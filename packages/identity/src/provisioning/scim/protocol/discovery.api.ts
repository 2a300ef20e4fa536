import { z } from 'zod';
import { QueryWord } from '@baton/values/wire';
import { endpoint } from '../../context.ts';
import { fail } from '../../errors.ts';
import {
  getResourceType,
  getSchema,
  getServiceProviderConfig,
  listResourceTypes,
  listSchemas,
} from './discovery.ts';
import { userUrn } from './schemas.ts';
import { ScimListResponse, scimForm, scimListReply, scimReply } from './scim-answer.ts';
import { scim } from './scim-endpoint.ts';

const discovery = { ...scim, method: 'GET' } as const;
const metaUrn = 'urn:ietf:params:scim:schemas:core:2.0:';
const filterQuery = { filter: QueryWord.optional() };

export const serviceProviderConfig = endpoint({
  id: 'getScimServiceProviderConfig',
  ...discovery,
  path: '/scim/v2/ServiceProviderConfig',
  summary: 'The features of this SCIM service.',
  returns: { 200: scimForm('ScimServiceProviderConfig', { schemas: [`${metaUrn}ServiceProviderConfig`] }) },
  handle: (_input, context) => scimReply(200, getServiceProviderConfig(context)),
});

export const resourceTypes = endpoint({
  id: 'listScimResourceTypes',
  ...discovery,
  path: '/scim/v2/ResourceTypes',
  summary: 'The kinds of resources.',
  query: filterQuery,
  returns: { 200: ScimListResponse },
  errors: ['scim_filter_forbidden'],
  handle({ query }, context) {
    if (query.filter !== undefined) fail('scim_filter_forbidden');
    const documents = listResourceTypes(context);
    return scimListReply(documents.length, 1, documents);
  },
});

export const resourceType = endpoint({
  id: 'getScimResourceType',
  ...discovery,
  path: '/scim/v2/ResourceTypes/{name}',
  summary: 'One kind of resource.',
  params: { name: z.string().max(1000) },
  returns: {
    200: scimForm('ScimResourceType', { schemas: [`${metaUrn}ResourceType`], id: 'User', name: 'User' }),
  },
  errors: ['scim_not_found'],
  handle: ({ params }, context) => scimReply(200, getResourceType(context, params.name)),
});

export const schemas = endpoint({
  id: 'listScimSchemas',
  ...discovery,
  path: '/scim/v2/Schemas',
  summary: 'The attributes of all resources.',
  query: filterQuery,
  returns: { 200: ScimListResponse },
  errors: ['scim_filter_forbidden'],
  handle({ query }, context) {
    if (query.filter !== undefined) fail('scim_filter_forbidden');
    const documents = listSchemas(context);
    return scimListReply(documents.length, 1, documents);
  },
});

export const schema = endpoint({
  id: 'getScimSchema',
  ...discovery,
  path: '/scim/v2/Schemas/{urn}',
  summary: 'The attributes of one schema.',
  params: { urn: z.string().max(1000) },
  returns: { 200: scimForm('ScimSchema', { schemas: [`${metaUrn}Schema`], id: userUrn, name: 'User' }) },
  errors: ['scim_not_found'],
  handle: ({ params }, context) => scimReply(200, getSchema(context, params.urn)),
});

export const discoveryApi = [serviceProviderConfig, resourceTypes, resourceType, schemas, schema];
