import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { AuditPage, auditQuery, tenantAuditQuery } from './audit-record.ts';
import { listAuditRecords } from './audit-records.ts';

export const list = endpoint({
  id: 'listAuditRecords',
  method: 'GET',
  path: '/audit',
  summary: 'Read the audit log of all tenants.',
  description:
    'In the order of `sequence`, oldest first, for pollers: a lower sequence never appears after a higher one was returned, so a reader that keeps its last sequence as `after` misses nothing. `order=desc` returns the newest first, for display. Searches with `tenantId`, `resourceId` or `requestId` use an index; only a search for exchanges of a tenant by action or resource type reads all of its exchanges.',
  query: auditQuery,
  returns: { 200: AuditPage },
  handle: ({ query }, { db }) => listAuditRecords(db, query),
});

export const listOfTenant = endpoint({
  id: 'listTenantAuditRecords',
  method: 'GET',
  path: '/tenants/{tenantId}/audit',
  summary: 'Read the audit log of a tenant.',
  description: 'Like `GET /audit` with `tenantId`, but also for an administrator of the tenant.',
  params: tenantParam,
  query: tenantAuditQuery,
  returns: { 200: AuditPage },
  handle: ({ params, query }, { db }) => listAuditRecords(db, { ...query, ...params }),
});

export const auditRecordsApi = [list, listOfTenant];
