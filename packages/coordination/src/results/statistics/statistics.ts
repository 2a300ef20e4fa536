import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Usage } from '../../execution/usage/usage.ts';
import { rangeFields } from './range.ts';

/**
 * Figures of a range of days (docs/reference/statistics.md). They are exact: each is the sum over what the journal and
 * the runs' actions record, within what the caller sees.
 */

/** The median and the 90th percentile of durations, in seconds: values that occurred (nearest rank). */
export const Durations = z
  .strictObject({
    count: z.int(),
    p50Seconds: z.number().nullable(),
    p90Seconds: z.number().nullable(),
  })
  .meta({ id: 'Durations', description: 'Percentiles by nearest rank; null if `count` is 0.' });
export type Durations = z.infer<typeof Durations>;

export const WorkStatistics = z
  .strictObject({
    ...rangeFields,
    created: z.int(),
    completed: z.int(),
    leadTime: Durations.meta({ description: 'From the creation of a task to its completion.' }),
    cycleTime: Durations.meta({
      description: 'From the first claim of a task to its completion; tasks without a claim are not counted.',
    }),
    days: z.array(
      z.strictObject({
        date: z.iso.date(),
        created: z.int(),
        completed: z.int(),
        leadTime: Durations,
        cycleTime: Durations,
      }),
    ),
  })
  .meta({ id: 'WorkStatistics' });
export type WorkStatistics = z.infer<typeof WorkStatistics>;

export const WaitStatistics = z
  .strictObject({
    ...rangeFields,
    waitingSeconds: z.number().meta({
      description: 'The sum of the times within the range for which requests for a decision were pending.',
    }),
    requested: z.int(),
    decided: z.int(),
    pending: z.int().meta({ description: 'Requests that are pending now, whenever they were made.' }),
    decisionTime: Durations.meta({
      description: 'From a request to its decision, by the day of the decision.',
    }),
    days: z.array(
      z.strictObject({
        date: z.iso.date(),
        waitingSeconds: z.number(),
        requested: z.int(),
        decided: z.int(),
        decisionTime: Durations,
      }),
    ),
  })
  .meta({ id: 'WaitStatistics' });
export type WaitStatistics = z.infer<typeof WaitStatistics>;

export const LeaseStatistics = z
  .strictObject({
    ...rangeFields,
    lost: z
      .int()
      .meta({ description: 'Claims that ended because their lease, or that of their session, expired.' }),
    refusedWrites: z.int().meta({
      description:
        'Writes refused with `stale_claim` or `run_not_active` for a claim or run of the writer itself.',
    }),
    days: z.array(z.strictObject({ date: z.iso.date(), lost: z.int(), refusedWrites: z.int() })),
    holders: z
      .array(z.strictObject({ principalId: Uuid, lost: z.int(), refusedWrites: z.int() }))
      .meta({ description: 'The 100 principals with the most lost leases, then refused writes.' }),
  })
  .meta({ id: 'LeaseStatistics' });
export type LeaseStatistics = z.infer<typeof LeaseStatistics>;

export const usageGroupings = ['principal', 'workspace', 'week'] as const;

export const UsageStatistics = z
  .strictObject({
    ...rangeFields,
    groupBy: z.enum(usageGroupings),
    total: Usage,
    groups: z.array(
      z.strictObject({
        principalId: Uuid.nullable().meta({ description: 'Set if grouped by principal.' }),
        workspaceId: Uuid.nullable().meta({
          description: 'Set if grouped by workspace; null there for tasks without a workspace.',
        }),
        week: z.iso.date().nullable().meta({ description: 'The Monday of the week, if grouped by week.' }),
        runs: z.int(),
        usage: Usage,
      }),
    ),
    rest: z
      .strictObject({ groups: z.int(), runs: z.int(), usage: Usage })
      .nullable()
      .meta({ description: 'The groups beyond the 200 with the highest costs; null if there are none.' }),
  })
  .meta({ id: 'UsageStatistics' });
export type UsageStatistics = z.infer<typeof UsageStatistics>;

const Holding = z
  .strictObject({
    claimId: Uuid,
    taskId: Uuid,
    publicId: z.string(),
    title: z.string(),
    workspaceId: Uuid.nullable(),
    holderId: Uuid,
    acquiredAt: Timestamp,
    endedAt: Timestamp.nullable().meta({ description: 'Null while the claim is live.' }),
    endReason: z.string().nullable(),
  })
  .meta({ id: 'Holding' });

export const Holdings = z
  .strictObject({
    from: Timestamp,
    to: Timestamp,
    items: z.array(Holding),
    isTruncated: z.boolean().meta({
      description: 'Whether the period has more than 2,000 claims, of which only the newest are returned.',
    }),
  })
  .meta({ id: 'Holdings' });
export type Holdings = z.infer<typeof Holdings>;
