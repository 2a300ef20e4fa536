import { z } from 'zod';
import {
  statusesMax,
  statusKeyCharactersMax,
  statusNameCharactersMax,
} from '../../organisation/status-graph.ts';

export const statusCategories = [
  'backlog',
  'active',
  'blocked',
  'terminal_success',
  'terminal_cancelled',
] as const;
export type StatusCategory = (typeof statusCategories)[number];

/** The statuses of a task type and the transitions between them (docs/reference/definitions.md#lifecycle). */
export const Lifecycle = z.strictObject({
  statuses: z.array(
    z.strictObject({ key: z.string(), category: z.enum(statusCategories), displayName: z.string() }),
  ),
  initialStatus: z.string(),
  transitions: z.array(z.strictObject({ from: z.string(), to: z.array(z.string()) })),
  claimStatus: z.string().optional(),
  releaseStatus: z.string().optional(),
  claimFrom: z.array(z.string()).optional(),
  completionStatus: z.string(),
});
export type Lifecycle = z.infer<typeof Lifecycle>;

const StatusKey = z.string().min(1).max(statusKeyCharactersMax);

/** A lifecycle as sent; validated by `parseLifecycle`. */
export const LifecycleInput = z.strictObject({
  statuses: z
    .array(
      z.strictObject({
        key: StatusKey,
        category: z.enum(statusCategories),
        displayName: z.string().min(1).max(statusNameCharactersMax).optional(),
      }),
    )
    .min(1)
    .max(statusesMax),
  initialStatus: StatusKey,
  transitions: z
    .array(z.strictObject({ from: StatusKey, to: z.array(StatusKey).max(statusesMax) }))
    .max(statusesMax)
    .optional(),
  claimStatus: StatusKey.nullish(),
  releaseStatus: StatusKey.nullish(),
  claimFrom: z
    .array(StatusKey)
    .max(statusesMax)
    .nullish()
    .meta({
      description:
        'Statuses of category `blocked` in which a task is available and can be claimed. In any other blocked status, ' +
        'it is on hold.',
    }),
  completionStatus: StatusKey.nullish(),
});
export type LifecycleStatus = Lifecycle['statuses'][number];

export { findStatus, movesFrom } from '../../organisation/status-graph.ts';
