import { z } from 'zod';
import type { Surroundings } from '@baton/kernel/http/service';
import { pageOf } from '@baton/values/wire';
import type { SecretChange } from '../../access/secret-store/secret-store.ts';
import { ConnectionKey } from '../connection-types/type-spec.ts';
import { type Context, endpoint } from '../context.ts';
import { requireStatus } from '../statuses.ts';
import { getOwnConnection, listOwnConnections } from './assigned.ts';
import { authorizeAround, type BegunAuthorization, beginAuthorization } from './begin-authorization.ts';
import { type CameBack, callbackAround, finishAuthorization } from './callback.ts';
import {
  Connection,
  ConnectionAuthorization,
  ConnectionChange,
  ConnectionReport,
  ConnectionRequest,
  ConnectionRevocation,
  ConnectionToken,
  connectionStatuses,
  OwnConnections,
  UsedConnection,
} from './connection.ts';
import {
  connectionAuthorizationFailed,
  connectionAuthorized,
  connectionCreated,
  connectionRevoked,
  connectionStatusChanged,
  connectionUpdated,
} from './connections.events.ts';
import { createConnection, getConnection, listConnections, updateConnection } from './connections.ts';
import { putToken, putTokenAround, revokeAround, revokeConnection } from './credentials.ts';
import { reportConnectionStatus } from './report-status.ts';

const params = { key: ConnectionKey };
const text = z.string().max(4096).optional();
const sentence = z.string().meta({ contentMediaType: 'text/plain' });
const settingsErrors = [
  'unknown_connection_type',
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'secret_material_rejected',
  'invalid_connection_settings',
] as const;

export const connectionsApi = [
  endpoint({
    id: 'createConnection',
    method: 'POST',
    path: '/connections',
    summary: 'Create a connection, which is pending until a credential is set.',
    permission: 'connections.manage',
    body: ConnectionRequest,
    returns: { 201: Connection },
    etag: 'connection',
    errors: [...settingsErrors, 'connection_key_taken'],
    emits: [connectionCreated],
    example: { type: 'issue-tracker', key: 'tracker', settings: { project: 'BATON' } },
    handle: ({ body }, context) => createConnection(context, body),
  }),
  endpoint({
    id: 'listConnections',
    method: 'GET',
    path: '/connections',
    summary: 'List connections, newest first.',
    permission: 'connections.read',
    query: { type: ConnectionKey.optional(), status: z.string().max(100).optional() },
    paging: true,
    returns: { 200: pageOf(Connection) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query: { type, status }, page }, context) =>
      listConnections(context, { type, status: requireStatus(status, connectionStatuses) }, page),
  }),
  endpoint({
    id: 'getConnection',
    method: 'GET',
    path: '/connections/{key}',
    summary: 'Read a connection.',
    permission: 'connections.read',
    params,
    returns: { 200: UsedConnection },
    etag: 'connection',
    errors: ['not_found'],
    handle: ({ params: { key } }, context) => getConnection(context, key),
  }),
  endpoint({
    id: 'reportConnectionStatus',
    method: 'PUT',
    path: '/connections/{key}/status',
    summary: 'Report whether the other system still accepts a connection.',
    description:
      'Only for agents whose spec contains the connection; all others get ' +
      '`connection_not_assigned`. A report that was checked before the last one, or before the credential was ' +
      'set, is refused. `connection.status_changed` is written when the connection has expired.',
    permission: 'connections.status.write',
    params,
    body: ConnectionReport,
    returns: { 200: Connection },
    etag: 'connection',
    errors: [
      'connection_not_assigned',
      'stale_status_report',
      'status_reason_required',
      'connection_status_conflict',
    ],
    emits: [connectionStatusChanged],
    example: { status: 'expired', reason: 'token_rejected', checkedAt: '2026-04-02T16:00:00Z' },
    handle: ({ params: { key }, body }, context) => reportConnectionStatus(context, key, body),
  }),
  endpoint({
    id: 'listOwnConnections',
    method: 'GET',
    path: '/agents/me/connections',
    summary: 'List the connections in the spec of the calling agent, by key.',
    returns: { 200: OwnConnections },
    errors: ['not_found'],
    handle: (_, context) => listOwnConnections(context),
  }),
  endpoint({
    id: 'getOwnConnection',
    method: 'GET',
    path: '/agents/me/connections/{key}',
    summary: 'Read a connection in the spec of the calling agent.',
    params,
    returns: { 200: Connection },
    errors: ['not_found'],
    handle: ({ params: { key } }, context) => getOwnConnection(context, key),
  }),
  endpoint({
    id: 'updateConnection',
    method: 'PATCH',
    path: '/connections/{key}',
    summary: 'Change a connection.',
    description: 'Settings are validated against the version of the type that the connection then has.',
    permission: 'connections.manage',
    ifMatch: 'connection',
    etag: 'connection',
    params,
    body: ConnectionChange,
    returns: { 200: Connection },
    errors: ['not_found', 'version_conflict', 'empty_update', ...settingsErrors],
    emits: [connectionUpdated],
    example: { displayName: 'Issue tracker of the company' },
    handle: ({ params: { key }, ifMatch, body }, context) => updateConnection(context, key, ifMatch, body),
  }),
  endpoint({
    id: 'authorizeConnection',
    method: 'POST',
    path: '/connections/{key}:authorize',
    summary: 'Create the URL at which a person authorizes a connection with OAuth.',
    description:
      'The address works once, until `expiresAt`; requesting another one voids it. Providers call back at ' +
      'CP_OAUTH_REDIRECT_URI.',
    permission: 'connections.manage',
    params,
    body: z.strictObject({}).meta({ id: 'ConnectionAuthorizationRequest' }),
    bodyOptional: true,
    returns: { 200: ConnectionAuthorization },
    secrets: ['authorizeUrl'],
    errors: [
      'not_found',
      'unknown_connection_type',
      'auth_not_supported',
      'oauth_not_configured',
      'secret_store_unavailable',
      'oauth_app_not_configured',
      'secret_address_changed',
    ],
    example: {},
    around: ({ params: { key } }, surroundings: Surroundings<BegunAuthorization, Context>) =>
      authorizeAround(key, surroundings),
    handle: ({ params: { key }, prepared }, context) => beginAuthorization(context, key, prepared),
  }),
  endpoint({
    id: 'finishConnection',
    method: 'GET',
    path: '/connections:callback',
    summary: 'Receive the redirect from a provider.',
    description:
      'Requires no credential: the state identifies the person who started it, and works once. Redirects with 303 to ' +
      'CP_CONNECTIONS_RETURN_URL with `connection`, `result` (active, failed, invalid_state) and `reason`; ' +
      'without that setting returns a line of text, with 200 for active, otherwise 400.',
    auth: 'none',
    looseQuery: 'kept',
    query: { state: text, code: text, error: text },
    returns: { 200: sentence, 303: null, 400: sentence },
    errors: [],
    emits: [connectionAuthorized, connectionAuthorizationFailed],
    transaction: 'command',
    around: ({ query }, surroundings: Surroundings<CameBack, Context>) => callbackAround(query, surroundings),
    handle: ({ prepared }, context) => finishAuthorization(context, prepared),
  }),
  endpoint({
    id: 'putConnectionToken',
    method: 'PUT',
    path: '/connections/{key}/token',
    summary: 'Connect with a token.',
    permission: 'connections.manage',
    params,
    body: ConnectionToken,
    unprinted: ['token'],
    returns: { 200: Connection },
    etag: 'connection',
    errors: [
      'not_found',
      'auth_not_supported',
      'invalid_account',
      'invalid_expiry',
      'secret_store_unavailable',
    ],
    emits: [connectionAuthorized],
    example: { account: 'acme', token: 'a-token-of-the-other-system' },
    around: ({ params: { key }, body }, surroundings: Surroundings<SecretChange, Context>) =>
      putTokenAround(key, body, surroundings),
    handle: ({ params: { key }, body, prepared }, context) => putToken(context, key, body, prepared),
  }),
  endpoint({
    id: 'revokeConnection',
    method: 'POST',
    path: '/connections/{key}:revoke',
    summary: 'Revoke a connection and delete its credential.',
    description:
      'The credential is deleted first. Revoking it again changes nothing. A revoked connection may be connected again.',
    permission: 'connections.manage',
    params,
    body: ConnectionRevocation,
    bodyOptional: true,
    returns: { 200: Connection },
    etag: 'connection',
    errors: ['not_found', 'secret_store_unavailable'],
    emits: [connectionRevoked],
    example: { reason: 'The account was closed.' },
    around: ({ params: { key } }, surroundings: Surroundings<SecretChange | undefined, Context>) =>
      revokeAround(key, surroundings),
    handle: ({ params: { key }, body, prepared }, context) =>
      revokeConnection(context, key, body.reason, prepared),
  }),
];
