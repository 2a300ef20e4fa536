import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { pageOf, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import { AcceptanceCheck } from '../../definitions/acceptance/acceptance.ts';
import { Origin } from '../../definitions/acceptance/origin.ts';
import { describeOnly } from '../../definitions/acceptance/parsed-document.ts';
import type { Tables } from '../../service/schema.ts';

export const goalStatuses = ['active', 'achieved', 'abandoned'] as const;
export const goalLevelsMax = 32;
export const desiredStateCharactersMax = 10_000;

/** A criterion for achieving a goal. The service never evaluates it. */
export const GoalCriterion = AcceptanceCheck.omit({ when: true });
export type GoalCriterion = z.infer<typeof GoalCriterion>;

/** A desired state (docs/reference/comments-and-goals.md#goals). */
export const Goal = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid.nullable(),
    title: z.string(),
    desiredState: z.string(),
    criteria: z.array(GoalCriterion),
    ownerId: Uuid.nullable(),
    status: z.enum(goalStatuses),
    createdFrom: Origin,
    parentGoalId: Uuid.nullable(),
    version: z.int().positive(),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    closedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Goal' });
export type Goal = z.infer<typeof Goal>;

export const GoalPage = pageOf(Goal);

const title = z.string().min(1).max(500);
/** A schema limit above the documented limit, because exceeding the documented limit has its own code. */
const desiredState = z.string().max(524_288);
const criteria = z.array(describeOnly(GoalCriterion)).max(50);

export const GoalRequest = z
  .strictObject({
    title,
    desiredState: desiredState.default(''),
    criteria: criteria.default([]),
    ownerId: Uuid.nullish(),
    workspaceId: Uuid.nullish(),
    parentGoalId: Uuid.nullish(),
    createdFrom: describeOnly(Origin).nullish(),
  })
  .meta({ id: 'GoalRequest' });
export type GoalRequest = z.output<typeof GoalRequest>;

/** The workspace and the origin of a goal can't change. */
export const GoalChange = z
  .strictObject({
    title: title.nullish(),
    desiredState: desiredState.nullish(),
    criteria: criteria.nullish(),
    ownerId: Uuid.nullish(),
    status: z.string().max(queryWordCharactersMax).nullish(),
    parentGoalId: Uuid.nullish(),
  })
  .meta({ id: 'GoalChange' });
export type GoalChange = z.output<typeof GoalChange>;

export type GoalRow = RowOf<Tables['goals'], { criteria: GoalCriterion[]; created_from: Origin }>;

export const goalOf = wireMapper<GoalRow>()(Goal, {});
