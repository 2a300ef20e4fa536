import { z } from 'zod';

export const statusCategories = [
  'backlog',
  'active',
  'blocked',
  'terminal_success',
  'terminal_cancelled',
] as const;
export type StatusCategory = (typeof statusCategories)[number];

/** The statuses of a task type and the moves between them (core, section 7.3). */
export const Lifecycle = z.strictObject({
  statuses: z.array(
    z.strictObject({ key: z.string(), category: z.enum(statusCategories), displayName: z.string() }),
  ),
  initialStatus: z.string(),
  transitions: z.array(z.strictObject({ from: z.string(), to: z.array(z.string()) })),
  claimStatus: z.string().optional(),
  releaseStatus: z.string().optional(),
  completionStatus: z.string(),
});
export type Lifecycle = z.infer<typeof Lifecycle>;

export const statusesMax = 100;
export const statusKeyCharactersMax = 64;
export const statusNameCharactersMax = 200;
const StatusKey = z.string().min(1).max(statusKeyCharactersMax);

/** A lifecycle as it is sent; `parseLifecycle` says what is wrong with one. */
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
  completionStatus: StatusKey.nullish(),
});
export type LifecycleStatus = Lifecycle['statuses'][number];

/** The status of that key, or undefined. */
export function findStatus({ statuses }: Lifecycle, key: string): LifecycleStatus | undefined {
  return statuses.find((status) => status.key === key);
}

/** The keys of the statuses that a task may move to from `status`, in the declared order. */
export function movesFrom({ transitions }: Lifecycle, status: string): readonly string[] {
  return transitions.find(({ from }) => from === status)?.to.filter((to) => to !== status) ?? [];
}
