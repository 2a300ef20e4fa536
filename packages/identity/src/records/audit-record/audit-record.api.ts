import { InstantInput, queryInteger, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { PageLimit } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import { readAudits } from './audit-record.ts';

const AuditRecord = z.strictObject({
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
});

export const listAudits = endpoint({
  id: 'listAuditRecords',
  method: 'GET',
  path: '/audit',
  summary: 'Read the audit record of all tenants.',
  description:
    'In the order of `sequence`, oldest first, for pollers: a lower sequence never appears after a higher one was served, so a reader that keeps its last sequence as `after` misses nothing. `order=desc` gives the newest first, for people. With `tenantId`, `resourceId` or `requestId` the filters go by an index; only those by action or type of resource that ask a tenant for exchanges read all of its exchanges.',
  query: {
    tenantId: Uuid.optional(),
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
      .describe('The last sequence that was read, in either order.'),
    limit: PageLimit,
  },
  returns: {
    200: z.strictObject({
      items: z.array(AuditRecord),
      next_after: z.int().nullable().describe('Where the next page starts; null when no more exist.'),
    }),
  },
  handle: ({ query }, { db }) => readAudits(db, query),
});

export const auditRecordApi = [listAudits];
