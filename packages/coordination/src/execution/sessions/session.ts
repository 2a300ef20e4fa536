import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { FreeObject, freeObjectOf, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import type { SessionRow } from '../../leases/lease-rows.ts';
import { documentBytesMax } from '../../service/documents.ts';

export const sessionStatuses = ['active', 'stale', 'closed'] as const;

/**
 * A lease that a harness renews while it works (docs/reference/sessions.md#states). `onBehalfOf` and `onBehalfOfId`
 * have the same value.
 */
export const Session = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    principalId: Uuid,
    onBehalfOf: Uuid.nullable(),
    onBehalfOfId: Uuid.nullable(),
    delegationId: Uuid.nullable(),
    status: z.enum(sessionStatuses),
    clientName: z.string(),
    clientVersion: z.string(),
    controlLevel: z.enum(['human_operated', 'connected']),
    harnessType: z.string().nullable(),
    harnessVersion: z.string().nullable(),
    protocolVersion: z.string().nullable(),
    hostname: z.string().nullable(),
    harnessCapabilities: z.array(z.string()).nullable(),
    environment: FreeObject.nullable(),
    metadata: FreeObject,
    startedAt: Timestamp,
    heartbeatAt: Timestamp,
    expiresAt: Timestamp,
    endedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof Session>;

const Harness = z.strictObject({
  type: z.string().max(queryWordCharactersMax),
  version: z.string().max(100).default(''),
  protocolVersion: z.string().max(100).default('1'),
  capabilities: z.array(z.string().max(10_000)).max(100).default([]),
  hostname: z.string().max(255).nullish(),
  environment: freeObjectOf(documentBytesMax).default({}),
});

export const SessionRequest = z
  .strictObject({
    clientName: z.string().min(1).max(200),
    clientVersion: z.string().max(100).default(''),
    metadata: freeObjectOf(documentBytesMax).default({}),
    onBehalfOf: Uuid.nullish(),
    ttlSeconds: z.int().nullish(),
    harness: Harness.nullish(),
  })
  .meta({ id: 'SessionRequest' });
export type SessionRequest = z.output<typeof SessionRequest>;

export const sessionOf = wireMapper<SessionRow>()(Session, {
  onBehalfOf: ({ on_behalf_of_id: onBehalfOf }) => onBehalfOf,
});
