import { idParams } from '@baton/values/keys';
import { QueryWord, Uuid } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { Goal, GoalChange, GoalPage, GoalRequest } from './goal.ts';
import { updateGoal } from './goal-changes.ts';
import { goalCreated, goalUpdated } from './goals.events.ts';
import { createGoal, getGoal, listGoals } from './goals.ts';

const textErrors = [
  'invalid_title',
  'secret_material_rejected',
  'invalid_acceptance',
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'duplicate_check_key',
  'invalid_desired_state',
] as const;

export const goalsApi = [
  endpoint({
    id: 'createGoal',
    method: 'POST',
    path: '/goals',
    summary: 'Create a goal.',
    permission: 'goals.write',
    body: GoalRequest,
    returns: { 201: Goal },
    etag: 'goal',
    errors: [
      ...textErrors,
      'invalid_origin',
      'duplicate_evidence',
      'not_found',
      'workspace_archived',
      'goal_workspace_mismatch',
      'goal_too_deep',
    ],
    emits: [goalCreated],
    example: {
      title: 'Builds are fast',
      desiredState: 'A build takes less than five minutes.',
      criteria: [
        { key: 'fast', kind: 'human', description: 'The slowest build of a week took four minutes.' },
      ],
    },
    handle: ({ body }, context) => createGoal(context, body),
  }),
  endpoint({
    id: 'listGoals',
    method: 'GET',
    path: '/goals',
    summary: 'List goals, newest first.',
    permission: 'goals.read',
    query: {
      status: QueryWord.optional(),
      workspaceId: Uuid.optional(),
      ownerId: Uuid.optional(),
      parentGoalId: Uuid.optional(),
    },
    paging: true,
    returns: { 200: GoalPage },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listGoals(context, query, page),
  }),
  endpoint({
    id: 'getGoal',
    method: 'GET',
    path: '/goals/{id}',
    summary: 'Read a goal.',
    permission: 'goals.read',
    params: idParams,
    returns: { 200: Goal },
    etag: 'goal',
    errors: ['not_found'],
    handle: ({ params }, context) => getGoal(context, params.id),
  }),
  endpoint({
    id: 'updateGoal',
    method: 'PATCH',
    path: '/goals/{id}',
    summary: 'Change, close or reopen a goal.',
    description: "Unchanged values have no effect. The workspace and the origin can't be changed.",
    permission: 'goals.write',
    ifMatch: 'goal',
    etag: 'goal',
    params: idParams,
    body: GoalChange,
    returns: { 200: Goal },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      'empty_update',
      ...textErrors,
      'invalid_goal_status',
      'goal_cycle',
      'goal_workspace_mismatch',
      'goal_too_deep',
    ],
    emits: [goalUpdated],
    example: { status: 'achieved' },
    precheck: ({ body }) => refuseNulls(body, ['ownerId', 'parentGoalId']),
    handle: ({ params, ifMatch, body }, context) => updateGoal(context, params.id, ifMatch, body),
  }),
];
