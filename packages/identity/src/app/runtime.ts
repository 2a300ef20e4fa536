import type { Pool } from '@baton/kernel/database/db';
import type { Call, ServiceRuntime } from '@baton/kernel/http/runtime';
import { type Operation, takesText } from '@baton/kernel/http/service';
import { ConcurrencyLimit, poolInTurns, Turns } from '@baton/kernel/limits/concurrency-limit';
import type { RequestMetrics } from '@baton/kernel/process/metrics';
import type { Caller } from '../provisioning/caller.ts';
import type { ErrorCode } from '../provisioning/errors.ts';
import { createScimAdmission } from '../provisioning/scim/access/scim-access.ts';
import { flushRecords } from '../records/journal/journal.ts';
import { type AdminSecrets, createAdmission } from './admission.ts';
import { type Context, contextOf, type Tools } from './context.ts';
import { errorRenderer, standardEnvelopes } from './error-envelopes.ts';

const basePath = '/api/v1';
const adminBodyBytesMax = 1_048_576;
/**
 * The limit for a route without a credential in a header, because anyone can send any number of requests to it at once.
 */
const strangersBodyBytesMax = 16_384;

/** The longest body that an endpoint reads (see docs/reference/directory.md#body-sizes). */
export function bodyBytesMaxOf({ auth, bodyBytesMax }: Pick<Operation, 'auth' | 'bodyBytesMax'>): number {
  const hasHeader = auth === undefined || auth === 'provisioning' || auth === 'delegation';
  return bodyBytesMax ?? (hasHeader ? adminBodyBytesMax : strangersBodyBytesMax);
}

/** The queue for a slot has the same limits for length and waiting time as the queue for a connection. */
const turnBounds = { queuedMax: 500, waitMsMax: 5000 };
/** The share of the connections that calls about one tenant may use, so that other tenants always find a free one. */
const shares = { reads: 0.25, writes: 0.6, presented: 0.25 };

/**
 * The queues in which calls wait for connections. Reads and writes have separate queues; a disable or a revocation
 * skips them. A SCIM write as a whole has no slot, because it may call the source's directory, which takes seconds: its
 * transaction is subject to the limit of its source, and each statement before and after it takes a slot among the
 * tenant's reads.
 *
 * The tenant of a call that presents a token is unknown until the token is read. Exchanges and introspections read it
 * in a shared statement and need no slot; the transactions of the other calls share one queue.
 */
function turnsFor(connectionsMax: number) {
  const limitOf = (kind: 'reads' | 'writes', of: string, share: number) =>
    new ConcurrencyLimit(`${kind} ${of}`, {
      ...turnBounds,
      runningMax: Math.max(1, Math.floor(connectionsMax * share)),
    });
  const reads = limitOf('reads', 'of the tenant', shares.reads);
  const writes = limitOf('writes', 'of the tenant', shares.writes);
  const presented = limitOf('writes', 'by presented tokens', shares.presented);
  return {
    turnsOf(
      { scim }: Caller,
      { method, auth, transaction, isEmergency }: Operation,
      { tenantId }: Readonly<Record<string, unknown>>,
    ) {
      if (isEmergency || isScimWrite(scim, method)) return undefined;
      const tenant = scim?.tenantId ?? tenantId;
      if (typeof tenant === 'string') return new Turns([method === 'GET' ? reads : writes, tenant]);
      return auth === 'presented' && transaction !== 'none' ? new Turns([presented, '']) : undefined;
    },
    poolOf(pool: Pool, { caller: { scim }, method }: Call<Caller>): Pool {
      return scim !== undefined && isScimWrite(scim, method) ? poolInTurns(pool, reads, scim.tenantId) : pool;
    },
  };
}

/** No automatic transaction: every operation except a read opens its own, see `scimWrite`. */
function isScimWrite(scim: Caller['scim'], method: string): boolean {
  return scim !== undefined && method !== 'GET' && method !== 'HEAD';
}

/** The codes that every SCIM endpoint may return before its own checks. */
const provisioningCodes: readonly ErrorCode[] = [
  'rate_limited',
  'scim_unauthorized',
  'scim_service_identity_required',
  'scim_scope_required',
  'scim_source_required',
  'scim_identity_provider_inactive',
  'scim_unsupported_media_type',
];

/** The codes that any endpoint may return without declaring them: those of the pipeline's steps. */
export const pipelineCodes: readonly ErrorCode[] = [
  'unauthorized',
  'outside_administration',
  'not_found',
  'method_not_allowed',
  'request_too_large',
  'invalid_request',
  'validation_error',
  'internal_error',
  'unavailable',
  ...provisioningCodes,
];

/** The codes of the pipeline that one endpoint can actually return, for its documentation. */
export function pipelineCodesOf(endpoint: Operation): readonly ErrorCode[] {
  const isPossible = (code: ErrorCode) =>
    endpoint.body !== undefined || code !== 'scim_unsupported_media_type';
  return [
    ...(endpoint.auth === undefined || endpoint.auth === 'delegation'
      ? (['unauthorized', 'rate_limited'] as const)
      : []),
    ...(endpoint.auth === undefined ? (['outside_administration'] as const) : []),
    ...(endpoint.auth === 'provisioning' ? provisioningCodes.filter(isPossible) : []),
    ...(endpoint.body === undefined ? [] : (['request_too_large'] as const)),
    ...(takesText(endpoint) ? (['validation_error'] as const) : []),
    'invalid_request',
    'internal_error',
    'unavailable',
  ];
}

/** Identity's side of the request pipeline (see docs/reference/directory.md#order-of-checks). */
export function identityRuntime(
  tools: Tools,
  metrics: RequestMetrics,
  adminSecrets: AdminSecrets,
): ServiceRuntime<Caller, Context> {
  const admit = createAdmission(basePath, tools, adminSecrets);
  const admitScim = createScimAdmission(tools);
  const { turnsOf, poolOf } = turnsFor(tools.settings.IAM_DATABASE_CONNECTIONS_MAX);
  return {
    name: 'identity',
    basePath,
    pool: tools.pool,
    log: tools.log,
    metrics,
    trustedProxies: tools.settings.IAM_TRUSTED_PROXIES,
    pipelineCodes: new Set(pipelineCodes),
    bodyBytesMax: bodyBytesMaxOf,
    sizeBeforeCredential: ({ auth }) => auth !== undefined,
    authenticate: async (head, endpoint) =>
      endpoint.auth === 'provisioning' ? admitScim(head, endpoint) : admit(head, endpoint),
    tenantOf: ({ scim }) => scim?.tenantId,
    turnsOf,
    authorize: () => undefined,
    context(call, db) {
      const pool = poolOf(tools.pool, call);
      return contextOf({ ...tools, pool }, call, db === tools.pool ? pool : db);
    },
    beforeCommit: flushRecords,
    committed: ({ eventTypes }) => tools.revocationFeed.noteCommitted(eventTypes),
    render: errorRenderer(tools.settings.IAM_DOCS_BASE_URL),
    envelopes: standardEnvelopes(tools.settings.IAM_DOCS_BASE_URL),
  };
}
