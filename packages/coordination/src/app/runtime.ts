import type { Pool } from '@baton/kernel/database/db';
import { isTemporary } from '@baton/kernel/http/command';
import { docsOf } from '@baton/kernel/http/error-docs';
import {
  InvalidRequest,
  Refusal,
  type RenderError,
  type RenderedError,
  UnstorableText,
} from '@baton/kernel/http/refusal';
import type { ServiceRuntime } from '@baton/kernel/http/runtime';
import { type Operation, takesText } from '@baton/kernel/http/service';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import type { RequestMetrics } from '@baton/kernel/process/metrics';
import type { Authenticator } from '../access/authn/authenticate.ts';
import { requireActiveCaller } from '../access/authn/principal-lock.ts';
import { PolicyRights } from '../access/policy/rights.ts';
import { flushEvents } from '../ledger/journal/journal.ts';
import { lateWriteCodes, type RefusedWrites } from '../results/statistics/refused-writes.ts';
import { type Caller, nobody } from '../service/caller.ts';
import { holds, type Permission } from '../service/permissions.ts';
import type { AuthorizationHooks } from './authz/authorization-hooks.ts';
import { type Context, contextOf, finishCommand, type Tools } from './context.ts';
import { type ErrorCode, errors, fail } from './errors.ts';

/** Codes of the pipeline's own steps, which every endpoint may return without declaring them. */
const pipelineCodes: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_if_match',
  'invalid_credentials',
  'permission_denied',
  'scope_not_granted',
  'purpose_ref_required',
  'outside_purpose',
  'not_entitled',
  'principal_not_active',
  'method_not_allowed',
  'not_found',
  'idempotency_key_reused',
  'idempotency_in_flight',
  'idempotency_key_required',
  'invalid_idempotency_key',
  'invalid_limit',
  'request_too_large',
  'validation_error',
  'if_match_required',
  'rate_limited',
  'internal_error',
  'verification_unavailable',
  'entitlement_unavailable',
  'policy_unavailable',
  'unavailable',
];

/** The codes of the pipeline that one endpoint can return, for its documentation. */
export function pipelineCodesOf(endpoint: Operation): readonly ErrorCode[] {
  const known = new Set<ErrorCode>(['invalid_request', 'internal_error', 'unavailable']);
  const add = (when: boolean, ...codes: ErrorCode[]) => when && codes.forEach((code) => known.add(code));
  const credential = endpoint.auth === undefined;
  add(
    credential,
    'invalid_credentials',
    'scope_not_granted',
    'purpose_ref_required',
    'outside_purpose',
    'not_entitled',
    'principal_not_active',
    'verification_unavailable',
    'entitlement_unavailable',
    'policy_unavailable',
    'rate_limited',
  );
  add(endpoint.auth === 'bootstrap' || endpoint.auth === 'metrics', 'invalid_credentials');
  add(endpoint.permission.length > 0, 'permission_denied');
  add(endpoint.ifMatch !== undefined, 'if_match_required', 'invalid_if_match');
  add(endpoint.idempotency === 'required', 'idempotency_key_required');
  add(
    endpoint.idempotency !== 'ignored',
    'invalid_idempotency_key',
    'idempotency_key_reused',
    'idempotency_in_flight',
  );
  add(endpoint.paging, 'invalid_limit');
  add(endpoint.body !== undefined, 'request_too_large');
  add(takesText(endpoint), 'validation_error');
  add(endpoint.bytes, 'request_too_large');
  return [...known];
}

/** The dependencies of the pipeline, in addition to those of its commands. */
export interface RuntimeParts {
  pool: Pool;
  metrics: RequestMetrics;
  authenticator: Authenticator;
  /** Hooks of the authorization mode; empty in mode `local`. */
  hooks: Partial<AuthorizationHooks>;
  /** Notifies readers of the tenant's journal. */
  wake(tenantId: string): void;
  /** Counts refused late writes. */
  refusedWrites: RefusedWrites;
}

/** A list with an index takes milliseconds; one without must not hold a connection for long. */
const listTimeoutMsMax = 3000;
/** The queue for a connection: its length and timeout match those of the pool. */
const turnBounds = { queuedMax: 500, waitMsMax: 5000 };
/**
 * The maximum number of connections that one tenant and one of its principals may use at once, so that others can get
 * one.
 */
const shares = { reads: { tenant: 0.25, principal: 0.2 }, writes: { tenant: 0.6, principal: 0.5 } };

/** Reads and writes have separate limits, so that a tenant's searches don't stop its own claims. */
function turnsFor(connectionsMax: number) {
  const limitOf = (kind: 'reads' | 'writes', of: 'tenant' | 'principal') =>
    new ConcurrencyLimit(`${kind} of the ${of}`, {
      ...turnBounds,
      runningMax: Math.max(1, Math.floor(connectionsMax * shares[kind][of])),
    });
  const limitsOf = (kind: 'reads' | 'writes') => ({
    principal: limitOf(kind, 'principal'),
    tenant: limitOf(kind, 'tenant'),
  });
  const [reads, writes] = [limitsOf('reads'), limitsOf('writes')];
  return (caller: Caller, { method, isList }: Operation): Turns | undefined => {
    if (caller === nobody) return undefined;
    const { principal, tenant } = method === 'GET' || isList ? reads : writes;
    // The principal's limit is applied first: a request that waits for it must not occupy one of the tenant's turns.
    return new Turns([principal, caller.principalId], [tenant, caller.tenantId]);
  };
}

/** Coordination's side of the request pipeline. See docs/reference/README.md#order-of-checks. */
export function coordinationRuntime(
  tools: Tools,
  { pool, metrics, authenticator, hooks, wake, refusedWrites }: RuntimeParts,
): ServiceRuntime<Caller, Context> {
  const { settings, log, counters, health } = tools;
  return {
    name: 'coordination',
    basePath: '/api/v1',
    pool,
    log,
    metrics,
    trustedProxies: settings.CP_TRUSTED_PROXIES,
    idempotency: {
      storedSeconds: settings.CP_IDEMPOTENCY_TTL_SECONDS,
      waitSeconds: settings.CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS,
    },
    pipelineCodes: new Set(pipelineCodes),
    bodyBytesMax: ({ bytes, largeBody, bodyBytesMax }) => {
      if (bodyBytesMax !== undefined) return bodyBytesMax;
      if (largeBody) return settings.CP_KNOWLEDGE_SNAPSHOT_MAX_BODY_BYTES;
      return bytes ? settings.CP_ARTIFACT_MAX_BYTES : settings.CP_MAX_BODY_BYTES;
    },
    sizeBeforeCredential: () => true,
    authenticate: (head, endpoint) => authenticator.authenticate(head, endpoint),
    tenantOf: (caller) => (caller === nobody ? undefined : caller.tenantId),
    authorize: refuseMissingPermission,
    turnsOf: turnsFor(settings.CP_DATABASE_CONNECTIONS_MAX),
    listTimeoutMs: Math.min(listTimeoutMsMax, settings.CP_STATEMENT_TIMEOUT_SECONDS * 1000),
    keyOwner: ({ tenantId, principalId }) => ({ tenantId, principalId }),
    requiresKey: ({ approvalId }) => approvalId !== undefined,
    async lockCaller(tx, caller) {
      if (caller === nobody) return;
      await requireActiveCaller(tx, caller);
      if (caller.permissions instanceof PolicyRights) await caller.permissions.recheck(tx);
    },
    ...hooks,
    context: (call, db, transactional) => contextOf(tools, call, db, transactional),
    beforeCommit: flushEvents,
    committed: (context) => finishCommand(context, wake),
    refused(refusal, caller) {
      const { code } = refusal;
      if (lateWriteCodes.includes(code)) counters.staleFencingRejections.inc();
      refusedWrites.count(refusal, caller);
      if (code === 'cursor_from_other_history') health.refusedCursor();
    },
    render: errorRenderer(settings.CP_DOCS_BASE_URL),
  };
}

function refuseMissingPermission({ permissions }: Caller, endpoint: Operation): void {
  const { permission, deniedAs, alsoOneOf } = endpoint;
  for (const [oneOf, required] of [
    [permission, deniedAs],
    [alsoOneOf, alsoOneOf],
  ] as const)
    if (oneOf.length > 0 && !oneOf.some((name) => holds(permissions, name as Permission)))
      fail('permission_denied', { required });
}

function errorRenderer(docsBaseUrl: string | undefined): RenderError {
  return (error, requestId) =>
    renderError(error, (code, details, headers) => {
      const { status, when } = errors[code];
      const docs = docsOf(docsBaseUrl, code);
      const body = {
        error: { code, message: when, details, requestId, ...(docs !== undefined && { docs }) },
      };
      return { status, body, ...(headers && { headers }) };
    });
}

type Envelope = (
  code: ErrorCode,
  details: object,
  headers?: Readonly<Record<string, string>>,
) => RenderedError;

/** Renders an error; the response reveals nothing about an unhandled failure. */
function renderError(error: unknown, envelope: Envelope): RenderedError {
  if (error instanceof Refusal && error.code in errors) {
    const rendered = envelope(error.code as ErrorCode, error.details, error.headers);
    return { ...rendered, status: error.status ?? rendered.status };
  }
  if (error instanceof InvalidRequest) {
    const listed = error.problems.map((problem) => ({
      loc: [problem.in, ...problem.path].join('.'),
      message: problem.message,
    }));
    return envelope('invalid_request', { errors: listed });
  }
  if (error instanceof UnstorableText)
    return envelope('validation_error', { errors: [{ path: error.path, code: error.code }] });
  if (isTemporary(error)) return envelope('unavailable', {}, { 'retry-after': '1' });
  return envelope('internal_error', {});
}
