import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { principalKinds, principalStatuses } from './principal.ts';

const kind = z.enum(principalKinds);
const previousStatus = z.enum(principalStatuses);

export const principalCreated = defineEvent(
  'principal.created',
  'principal',
  z.strictObject({ kind, displayName: z.string() }),
);

/** `changes` has the names of the changed fields, without their old values. */
export const principalUpdated = defineEvent(
  'principal.updated',
  'principal',
  z.strictObject({ principalId: Uuid, version: z.int(), changes: z.array(z.string()) }),
);

/** Counts of the objects that the disable ended. */
export const principalDisabled = defineEvent(
  'principal.disabled',
  'principal',
  z.strictObject({
    kind,
    previousStatus,
    reason: z.string().nullable(),
    revokedBindings: z.int(),
    revokedDelegations: z.int(),
    closedSessions: z.int(),
    releasedClaims: z.int(),
    failedRuns: z.int(),
    withdrawnInvocations: z.int(),
  }),
);

export const principalEnabled = defineEvent(
  'principal.enabled',
  'principal',
  z.strictObject({ kind, previousStatus, reason: z.string().nullable(), liveApiKeys: z.int() }),
);
