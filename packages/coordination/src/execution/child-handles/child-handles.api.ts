import { z } from 'zod';
import { QueryFlag, QueryWord, Uuid } from '@baton/values/wire';
import { childRevoked } from '../../leases/children/children.events.ts';
import { claimGateEvents } from '../../leases/gate.ts';
import { taskCreated, taskRelationAdded } from '../../work/tasks/tasks.events.ts';
import { endpoint } from '../context.ts';
import {
  childCancelRequested,
  controlMessageAccepted,
  runCancelRequested,
} from '../control-messages/control-messages.events.ts';
import { liveRunErrors } from '../runs/live-run.ts';
import { ChildHandle, ChildHandlePage, LaunchedChild, NewChild } from './child-handle.ts';
import { childLaunched } from './child-handles.events.ts';
import { getChildHandle, listChildHandles, revokeChildHandle } from './child-handles.ts';
import { launchChild } from './launch-child.ts';

const params = { id: Uuid };
const path = '/runs/{id}/child-handles';
const ChildHandleResult = z.strictObject({ childHandle: ChildHandle }).meta({ id: 'ChildHandleResult' });
const Revocation = z
  .strictObject({ reason: z.string().max(500).default(''), cancelChild: z.boolean().default(false) })
  .meta({ id: 'ChildHandleRevocation' });

const revocation = {
  method: 'POST',
  permission: ['tasks.claim', 'claims.manage'],
  body: Revocation,
  bodyOptional: true,
  returns: { 200: ChildHandleResult },
  errors: ['not_found', 'run_holder_mismatch'],
  emits: [childRevoked, controlMessageAccepted, runCancelRequested, childCancelRequested],
  example: { reason: 'The decision is already known.' },
} as const;

export const childHandlesApi = [
  endpoint({
    id: 'launchChild',
    method: 'POST',
    path,
    summary: 'Launch a child of a run: a task, and a handle to track it.',
    description:
      'For the principal of the run, under its live claim. A correlation id that the run has already used returns ' +
      'its child. Omitted rights of the grant are inherited; none can be added. A task with 1,000 relations ' +
      'accepts no more: `invalid_relation`.',
    permission: 'tasks.claim',
    alsoOneOf: ['tasks.write'],
    params,
    body: NewChild,
    returns: { 201: LaunchedChild, 200: LaunchedChild },
    idempotency: 'required',
    secrets: ['handleToken'],
    errors: [
      'invalid_correlation_id',
      'invalid_cancellation_policy',
      'invalid_child_expiry',
      'invalid_child_grant',
      ...liveRunErrors,
      'child_handle_revoked',
      'child_handle_expired',
      'child_grant_exceeded',
      'child_grant_exceeds_parent',
      'child_depth_exceeded',
      'invalid_title',
      'invalid_priority',
      'unknown_agent',
      'invalid_relation',
    ],
    emits: [taskCreated, taskRelationAdded, childLaunched, ...claimGateEvents],
    example: {
      correlationId: 'review-1',
      title: 'Review the fix of the login test',
      grant: { permissions: ['tasks.read', 'tasks.claim'] },
    },
    handle: (input, context) => launchChild(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'listChildHandles',
    method: 'GET',
    path,
    summary: 'List the children that a run launched, oldest first.',
    description:
      'With `active` true, lists only pending, running and suspended children; with false, only the others.',
    permission: 'tasks.read',
    params,
    query: { active: QueryFlag.optional() },
    paging: true,
    returns: { 200: ChildHandlePage },
    errors: ['invalid_cursor', 'not_found'],
    handle: ({ params: { id }, query: { active = null }, page }, context) =>
      listChildHandles(context, id, { ...page, active }),
  }),
  endpoint({
    id: 'getChildHandle',
    method: 'GET',
    path: '/child-handles/{idOrToken}',
    summary: 'Read a child handle by its id or its token.',
    permission: 'tasks.read',
    params: { idOrToken: QueryWord },
    returns: { 200: ChildHandleResult },
    errors: ['invalid_child_handle_ref', 'invalid_child_handle_token', 'not_found'],
    handle: async ({ params: { idOrToken } }, context) => ({
      childHandle: await getChildHandle(context, idOrToken),
    }),
  }),
  endpoint({
    id: 'revokeChildHandle',
    path: '/child-handles/{id}:revoke',
    summary: 'Revoke a launch.',
    description:
      'For the principal of the run that launched it, or with `claims.manage`. No further run of the child can ' +
      'start; ' +
      'with `cancelChild`, its active run gets a cancel request. Repeating the call has no effect.',
    params,
    ...revocation,
    handle: ({ params: { id: handleId }, body }, context) => revokeChildHandle(context, { handleId }, body),
  }),
  endpoint({
    id: 'revokeChildHandleOfRun',
    path: '/runs/{id}/child-handles/{handleId}:revoke',
    summary: 'Revoke a launch made by a run.',
    description: 'The same as POST /child-handles/{id}:revoke, for a handle of this run.',
    params: { id: Uuid, handleId: Uuid },
    ...revocation,
    handle: ({ params: { id: runId, handleId }, body }, context) =>
      revokeChildHandle(context, { handleId, runId }, body),
  }),
];
