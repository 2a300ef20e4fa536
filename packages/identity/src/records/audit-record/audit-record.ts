import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { InstantInput, queryInteger, Timestamp, Uuid } from '@baton/values/wire';
import { NextSequence, PageLimit, pageForm } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

/** A record for readers, without the columns that only the verification needs. */
export type AuditRow = Omit<RowOf<Tables['audit_records']>, 'written_at' | 'mac'>;

export const AuditRecord = z
  .strictObject({
    sequence: z.int(),
    id: Uuid,
    tenant_id: Uuid,
    action: z.string(),
    actor_ref: z.string(),
    resource_type: z.string(),
    resource_id: Uuid,
    outcome: z.enum(['allowed', 'denied']),
    reason: z.string(),
    request_id: z.string(),
    occurred_at: Timestamp,
  })
  .meta({ id: 'AuditRecord' });

export const AuditPage = pageForm(AuditRecord, NextSequence);
export type AuditPage = z.infer<typeof AuditPage>;

export const tenantAuditQuery = {
  action: z.string().max(100).optional(),
  actor: z.string().max(200).optional(),
  resourceType: z.string().max(100).optional(),
  resourceId: Uuid.optional(),
  outcome: z.enum(['allowed', 'denied']).optional(),
  requestId: z.string().max(128).optional(),
  from: InstantInput.optional().describe('Nothing before this instant.'),
  to: InstantInput.optional().describe('Nothing after this instant.'),
  order: z.enum(['asc', 'desc']).default('asc'),
  after: queryInteger(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The `sequence` of the last record that was read, in either order.'),
  limit: PageLimit,
};

export const auditQuery = { tenantId: Uuid.optional(), ...tenantAuditQuery };
export type AuditQuery = z.infer<z.ZodObject<typeof auditQuery>>;
