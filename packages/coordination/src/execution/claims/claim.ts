import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { ClaimRow } from '../../leases/lease-rows.ts';

export const claimStatuses = ['active', 'released', 'stale'] as const;

/** An exclusive, expiring lease on a task (docs/reference/claims.md). `id` and `claimId` have the same value. */
export const Claim = z
  .strictObject({
    id: Uuid,
    claimId: Uuid,
    tenantId: Uuid,
    taskId: Uuid,
    sessionId: Uuid,
    holderId: Uuid,
    status: z.enum(claimStatuses),
    fencingToken: z.int().positive(),
    intent: z.string(),
    acquiredAt: Timestamp,
    heartbeatAt: Timestamp,
    expiresAt: Timestamp,
    releasedAt: Timestamp.nullable(),
    releaseReason: z.string().nullable(),
  })
  .meta({ id: 'Claim' });
export type Claim = z.infer<typeof Claim>;

export const claimCheckReasons = ['live', 'released', 'expired', 'superseded', 'session_inactive'] as const;

/** Whether a claim currently protects its task (docs/reference/claims.md#check). */
export const ClaimCheck = z
  .strictObject({
    live: z.boolean(),
    reason: z.enum(claimCheckReasons),
    taskId: Uuid,
    holderId: Uuid,
    expiresAt: Timestamp,
  })
  .meta({ id: 'ClaimCheck' });
export type ClaimCheck = z.infer<typeof ClaimCheck>;

export const ClaimRequest = z
  .strictObject({
    sessionId: Uuid,
    ttlSeconds: z.int().nullish(),
    intent: z.string().max(500).default(''),
  })
  .meta({ id: 'ClaimRequest' });
export type ClaimRequest = z.output<typeof ClaimRequest>;

export const claimOf = wireMapper<ClaimRow>()(Claim, { claimId: ({ id }) => id });
