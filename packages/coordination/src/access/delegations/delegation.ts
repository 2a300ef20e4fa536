import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { InstantInput, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { PermissionList } from '../permission-list.ts';

/**
 * Lets an agent act for a human. With `CP_DELEGATION_NARROWS` the permissions limit the agent's writes in a session for
 * that person; otherwise they are only recorded. See docs/reference/access.md#delegations.
 */
export const Delegation = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    humanPrincipalId: Uuid,
    agentPrincipalId: Uuid,
    permissions: z.array(z.string()),
    startsAt: Timestamp,
    expiresAt: Timestamp.nullable(),
    revokedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'Delegation' });
export type Delegation = z.infer<typeof Delegation>;

export const DelegationRequest = z
  .strictObject({
    humanPrincipalId: Uuid,
    agentPrincipalId: Uuid,
    permissions: PermissionList.default([]),
    startsAt: InstantInput.nullish(),
    expiresAt: InstantInput.nullish(),
  })
  .meta({ id: 'DelegationRequest' });
export type DelegationRequest = z.output<typeof DelegationRequest>;

export type DelegationRow = RowOf<Tables['delegations']>;

export const delegationOf = wireMapper<DelegationRow>()(Delegation, {});
