import { z } from 'zod';
import { reply, type Surroundings } from '@baton/kernel/http/service';
import { pageOf } from '@baton/values/wire';
import { PackageFilter } from '../../organisation/package-link.ts';
import { refuseNulls } from '../../service/changes.ts';
import { type Context, endpoint } from '../context.ts';
import { requireStatus } from '../statuses.ts';
import {
  ConnectionType,
  ConnectionTypeChange,
  ConnectionTypeRef,
  ConnectionTypeRequest,
  ConnectionTypeVersion,
  OauthApp,
  OauthAppRequest,
  typeStatuses,
} from './connection-type.ts';
import {
  connectionTypePublished,
  connectionTypeStatusChanged,
  oauthAppSet,
} from './connection-types.events.ts';
import { getType, listTypes, publishType, updateType } from './connection-types.ts';
import { getApp, type PutApp, putApp, putAppAround } from './oauth-apps.ts';
import { ConnectionKey } from './type-spec.ts';

export const connectionTypesApi = [
  endpoint({
    id: 'publishConnectionType',
    method: 'POST',
    path: '/connection-types',
    summary: 'Publish a version of a connection type.',
    description:
      'A connection type describes how to connect to a family of systems. Versions never change: returns 200 ' +
      'when this version already has the same content, otherwise 201. `invalid_connection_type` contains the field.',
    permission: 'connections.manage',
    body: ConnectionTypeRequest,
    returns: { 200: ConnectionType, 201: ConnectionType },
    etag: 'connection-type',
    errors: [
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'invalid_connection_type',
      'secret_material_rejected',
      'connection_type_version_exists',
    ],
    emits: [connectionTypePublished],
    example: {
      key: 'issue-tracker',
      version: 1,
      spec: {
        displayName: 'Issue tracker',
        auth: ['token'],
        settingsSchema: { type: 'object', properties: { project: { type: 'string' } } },
      },
    },
    async handle({ body }, context) {
      const { type, isNew } = await publishType(context, body);
      return reply(isNew ? 201 : 200, type);
    },
  }),
  endpoint({
    id: 'listConnectionTypes',
    method: 'GET',
    path: '/connection-types',
    summary: 'List versions of connection types, newest first.',
    permission: 'connections.read',
    query: {
      key: ConnectionKey.optional(),
      status: z.string().max(100).optional(),
      package: PackageFilter,
    },
    paging: true,
    returns: { 200: pageOf(ConnectionType) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query: { key, status, package: packageKey }, page }, context) =>
      listTypes(context, { key, status: requireStatus(status, typeStatuses), packageKey }, page),
  }),
  endpoint({
    id: 'getConnectionType',
    method: 'GET',
    path: '/connection-types/{key}',
    summary: 'Read a version of a connection type.',
    permission: 'connections.read',
    params: { key: ConnectionTypeRef },
    returns: { 200: ConnectionType },
    etag: 'connection-type',
    errors: ['not_found'],
    handle: ({ params }, context) => getType(context, params.key),
  }),
  endpoint({
    id: 'updateConnectionType',
    method: 'PATCH',
    path: '/connection-types/{key}',
    summary: 'Deprecate or disable a version of a connection type.',
    description:
      'A deprecated version serves its existing connections but accepts no new ones. A disabled version no longer ' +
      'allows a connection with OAuth.',
    permission: 'connections.manage',
    ifMatch: 'connection-type',
    etag: 'connection-type',
    params: { key: ConnectionTypeVersion },
    body: ConnectionTypeChange,
    returns: { 200: ConnectionType },
    errors: ['invalid_field', 'not_found', 'version_conflict', 'empty_update', 'invalid_status_transition'],
    emits: [connectionTypeStatusChanged],
    example: { status: 'deprecated' },
    precheck: ({ body }) => refuseNulls(body),
    handle: ({ params, ifMatch, body }, context) => updateType(context, params.key, ifMatch, body),
  }),
  endpoint({
    id: 'putOauthApp',
    method: 'PUT',
    path: '/connection-types/{key}/oauth-app',
    summary: 'Set the client application of a connection type at its provider.',
    description:
      'The secret is sent only to the scheme, host and port of the token address for which it was entered.',
    permission: 'connections.manage',
    params: { key: ConnectionKey },
    body: OauthAppRequest,
    unprinted: ['clientSecret'],
    returns: { 200: OauthApp },
    errors: ['not_found', 'auth_not_supported', 'secret_store_unavailable', 'oauth_app_write_conflict'],
    emits: [oauthAppSet],
    example: { clientId: 'baton', clientSecret: 'a-secret-of-the-provider' },
    around: ({ params, body }, surroundings: Surroundings<PutApp, Context>) =>
      putAppAround(params.key, body, surroundings),
    handle: ({ params, body, prepared }, context) => putApp(context, params.key, body.clientId, prepared),
  }),
  endpoint({
    id: 'getOauthApp',
    method: 'GET',
    path: '/connection-types/{key}/oauth-app',
    summary: 'Read the client application of a connection type, never its secret.',
    permission: 'connections.read',
    params: { key: ConnectionKey },
    returns: { 200: OauthApp },
    errors: ['not_found'],
    handle: ({ params }, context) => getApp(context, params.key),
  }),
];
