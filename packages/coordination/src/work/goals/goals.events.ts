import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { OriginSummary } from '../../definitions/acceptance/origin.ts';
import { goalStatuses } from './goal.ts';

const status = z.enum(goalStatuses);

export const goalCreated = defineEvent(
  'goal.created',
  'goal',
  z.strictObject({
    goalId: Uuid,
    title: z.string(),
    status,
    workspaceId: Uuid.nullable(),
    ownerId: Uuid.nullable(),
    parentGoalId: Uuid.nullable(),
    criteriaCount: z.int(),
    createdFrom: OriginSummary,
  }),
);

/**
 * `changes` contains the new values, except for `desiredState`, which is `true`, and the criteria, of which only the
 * number is included.
 */
export const goalUpdated = defineEvent(
  'goal.updated',
  'goal',
  z.strictObject({
    goalId: Uuid,
    changes: z.record(z.string(), z.union([z.string(), z.int(), z.literal(true), z.null()])),
    version: z.int(),
    fromStatus: status.optional(),
    status: status.optional(),
  }),
);
