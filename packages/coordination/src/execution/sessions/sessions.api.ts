import { z } from 'zod';
import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { claimReleased, sessionClosed, sessionExpired } from '../../leases/leases.events.ts';
import { endpoint } from '../context.ts';
import { Session, SessionRequest } from './session.ts';
import { sessionOpened } from './sessions.events.ts';
import { closeSession, getSession, heartbeatSession, listSessions, openSession } from './sessions.ts';

const params = { id: Uuid };

export const sessionsApi = [
  endpoint({
    id: 'openSession',
    method: 'POST',
    path: '/sessions',
    summary: 'Open a session: the lease under which a harness claims tasks.',
    permission: 'sessions.open',
    body: SessionRequest,
    returns: { 201: Session },
    errors: [
      'unsupported_protocol_version',
      'invalid_harness',
      'invalid_ttl',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'not_found',
      'delegation_required',
    ],
    emits: [sessionOpened],
    example: {
      clientName: 'example-harness',
      clientVersion: '2.1.0',
      ttlSeconds: 300,
      harness: { type: 'example', version: '2.1.0', protocolVersion: '2', capabilities: ['resume'] },
    },
    handle: ({ body }, context) => openSession(context, body),
  }),
  endpoint({
    id: 'listSessions',
    method: 'GET',
    path: '/sessions',
    summary: 'List sessions, newest first.',
    description:
      'A person with the visibility `members` sees only their own sessions, and sessions whose claims (at most ' +
      '1,000) ' +
      'and registered agent are all in visible workspaces.',
    permission: 'sessions.manage',
    query: { status: QueryWord.optional(), principalId: Uuid.optional() },
    paging: true,
    returns: { 200: pageOf(Session) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listSessions(context, query, page),
  }),
  endpoint({
    id: 'getSession',
    method: 'GET',
    path: '/sessions/{id}',
    summary: 'Read a session.',
    description: 'For its owner, or with `sessions.manage`.',
    params,
    returns: { 200: Session },
    errors: ['not_found', 'permission_denied'],
    handle: (input, context) => getSession(context, input.params.id),
  }),
  endpoint({
    id: 'heartbeatSession',
    method: 'POST',
    path: '/sessions/{id}:heartbeat',
    summary: 'Extend the lease of a session.',
    description:
      'For its owner, or with `sessions.manage`. Send a heartbeat every third of the lease. Without `ttlSeconds`, ' +
      'it is renewed for its original length. If the lease has already expired, the expiry is recorded, the ' +
      'claims of the session are released, and the response is `session_expired`.',
    permission: ['sessions.open', 'sessions.manage'],
    params,
    body: z.strictObject({ ttlSeconds: z.int().nullish() }).meta({ id: 'SessionHeartbeat' }),
    bodyOptional: true,
    returns: { 200: Session },
    errors: ['not_found', 'permission_denied', 'session_not_active', 'session_expired', 'invalid_ttl'],
    emits: [claimReleased, sessionExpired, sessionClosed],
    transaction: 'statement',
    example: { ttlSeconds: 300 },
    handle: (input, context) => heartbeatSession(context, input.params.id, input.body.ttlSeconds),
  }),
  endpoint({
    id: 'closeSession',
    method: 'POST',
    path: '/sessions/{id}:close',
    summary: 'Close a session and release its claims.',
    description: 'For its owner, or with `sessions.manage`. Closing a closed session has no effect.',
    permission: ['sessions.open', 'sessions.manage'],
    params,
    body: z.strictObject({}).meta({ id: 'SessionClose' }),
    bodyOptional: true,
    returns: { 200: Session },
    errors: ['not_found', 'permission_denied'],
    emits: [claimReleased, sessionClosed],
    example: {},
    handle: (input, context) => closeSession(context, input.params.id),
  }),
];
