import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

export const controlOperations = ['queue', 'steer', 'redirect', 'request_cancel', 'force_cancel'] as const;
export type ControlOperation = (typeof controlOperations)[number];
export const controlStatuses = ['accepted', 'applied', 'rejected', 'superseded'] as const;
/** What an executor can report as the outcome of an accepted message. */
export const acknowledgements = ['applied', 'rejected', 'superseded'] as const;
export type Acknowledgement = (typeof acknowledgements)[number];

/**
 * A message to a running run (docs/reference/actions-and-usage.md#control-messages). Its executor processes messages in
 * the order of `seq`.
 */
export const ControlMessage = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    runId: Uuid,
    taskId: Uuid,
    seq: z.int().positive(),
    operation: z.enum(controlOperations),
    status: z.enum(controlStatuses),
    causalPosition: z.string(),
    directive: z.string().nullable(),
    reason: z.string(),
    safeBoundary: z.string().nullable(),
    idempotencyKey: z.string(),
    requestedByPrincipalId: Uuid,
    acknowledgedByPrincipalId: Uuid.nullable(),
    requestId: z.string(),
    correlationId: z.string(),
    causationId: z.string().nullable(),
    version: z.int().positive(),
    acceptedAt: Timestamp,
    resolvedAt: Timestamp.nullable(),
  })
  .meta({ id: 'ControlMessage' });
export type ControlMessage = z.infer<typeof ControlMessage>;

/** A message, and the version that its run has after it. */
export const ControlMessageResult = z
  .strictObject({ controlMessage: ControlMessage, runVersion: z.int().positive() })
  .meta({ id: 'ControlMessageResult' });
export type ControlMessageResult = z.infer<typeof ControlMessageResult>;

/** The last page has a `nextCursor` too, from which later messages are read. */
export const ControlMessagePage = z
  .strictObject({ items: z.array(ControlMessage), nextCursor: z.string(), hasMore: z.boolean() })
  .meta({ id: 'ControlMessagePage' });
export type ControlMessagePage = z.infer<typeof ControlMessagePage>;

const word = z.string().max(queryWordCharactersMax);
const Version = z.int().min(1);
const reason = z.string().max(2000).default('');

export const NewControlMessage = z
  .strictObject({
    operation: word.meta({ description: `One of ${controlOperations.join(', ')}.` }),
    causalPosition: z.string().max(500).meta({
      description: 'The state of the run that the sender has seen: a cursor, a checkpoint, a step.',
    }),
    directive: z.string().max(10_000).nullish(),
    reason,
    expectedRunVersion: Version,
  })
  .meta({ id: 'NewControlMessage' });
export type NewControlMessage = z.output<typeof NewControlMessage>;

export const ControlMessageAcknowledgement = z
  .strictObject({
    status: word.meta({ description: `One of ${acknowledgements.join(', ')}.` }),
    claimId: Uuid,
    fencingToken: z.int(),
    expectedRunVersion: Version,
    expectedMessageVersion: Version,
    safeBoundary: z
      .string()
      .max(500)
      .nullish()
      .meta({ description: 'The point in the work at which the message was applied.' }),
    reason,
  })
  .meta({ id: 'ControlMessageAcknowledgement' });
export type ControlMessageAcknowledgement = z.output<typeof ControlMessageAcknowledgement>;

export type ControlMessageRow = RowOf<Tables['run_control_messages']>;

/**
 * The message with which a cancellation began, and whether a forced cancellation also follows relations to tasks that
 * were not launched.
 */
export type CascadeRoot = ControlMessageRow & { follows_relations: boolean };

export const controlMessageOf = wireMapper<ControlMessageRow>()(ControlMessage, {});
