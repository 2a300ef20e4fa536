import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';
import { OriginSummary } from '../../definitions/acceptance/origin.ts';
import { priorities } from './task.ts';

export const taskCreated = defineEvent(
  'task.created',
  'task',
  z.strictObject({
    publicId: z.string(),
    title: z.string(),
    status: z.string(),
    systemStatusCategory: z.string(),
    typeKey: z.string(),
    typeVersion: z.int(),
    priority: z.enum(priorities),
    workspaceId: Uuid.nullable(),
    startDate: Timestamp.nullable(),
    dueDate: Timestamp.nullable(),
    customFields: z.boolean(),
    goalId: Uuid.nullable(),
    origin: OriginSummary,
    acceptanceChecks: z.int(),
  }),
);

export const taskRelationAdded = defineEvent(
  'task.relation_added',
  'task',
  z.strictObject({ relationId: Uuid, toTaskId: Uuid, type: z.string() }),
);

/**
 * `changes` contains the new values under their wire names: a flag for custom fields, counts for acceptance and
 * evidence, and names for requirements.
 */
export const taskUpdated = defineEvent(
  'task.updated',
  'task',
  z.strictObject({
    publicId: z.string(),
    changes: z.record(
      z.string(),
      z.union([
        z.string(),
        z.int(),
        z.literal(true),
        z.null(),
        z.strictObject({
          roles: z.array(z.string()),
          capabilities: z.array(z.string()),
          skills: z.array(z.string()),
        }),
      ]),
    ),
    version: z.int(),
    fromStatus: z.string().optional(),
    status: z.string().optional(),
    systemStatusCategory: z.string().optional(),
  }),
);

/** Contains the verification if the task had checks. */
export const taskCompleted = defineEvent(
  'task.completed',
  'task',
  z.strictObject({
    publicId: z.string(),
    status: z.string(),
    systemStatusCategory: z.string(),
    version: z.int(),
    verificationId: Uuid.optional(),
    attempt: z.int().optional(),
  }),
);
