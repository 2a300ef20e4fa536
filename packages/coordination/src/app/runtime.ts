import type { Call, ServiceRuntime } from '@baton/kernel/runtime';
import { isTemporary } from '@baton/kernel/command';
import type { Db, Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { RequestMetrics } from '@baton/kernel/metrics';
import { InvalidRequest, Refusal, type RenderedError, UnstorableText } from '@baton/kernel/refusal';
import type { Operation } from '@baton/kernel/service';
import type { Authenticator } from '../access/authn/authenticate.ts';
import { type Caller, nobody } from '../service/caller.ts';
import { requireActiveCaller } from '../access/authn/principal-lock.ts';
import type { Settings } from './settings.ts';
import type { Context } from './context.ts';
import type { Counters } from '../service/counters.ts';
import { type ErrorCode, errors } from './errors.ts';
import type { Health } from './health/health.ts';
import { flushEvents } from '../ledger/journal/journal.ts';
import { holds, type Permission } from '../service/permissions.ts';
import { fail } from './errors.ts';

/** What any endpoint may answer without declaring it: the steps before its own. */
const pipelineCodes: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_if_match',
  'invalid_credentials',
  'permission_denied',
  'scope_not_granted',
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
  'unavailable',
];

/** The pipeline's own codes that can really happen at one endpoint, for its documentation. */
export function pipelineCodesOf(endpoint: Operation): readonly ErrorCode[] {
  const known = new Set<ErrorCode>(['invalid_request', 'internal_error', 'unavailable']);
  const add = (when: boolean, ...codes: ErrorCode[]) => when && codes.forEach((code) => known.add(code));
  const credential = endpoint.auth === undefined;
  add(
    credential,
    'invalid_credentials',
    'scope_not_granted',
    'principal_not_active',
    'verification_unavailable',
    'rate_limited',
  );
  add(endpoint.auth === 'bootstrap', 'invalid_credentials');
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
  add(endpoint.body !== undefined, 'request_too_large', 'validation_error');
  return [...known];
}

export interface RuntimeParts {
  settings: Settings;
  pool: Pool;
  log: Logger;
  metrics: RequestMetrics;
  counters: Counters;
  authenticator: Authenticator;
  health: Health;
  /** Wakes whoever reads the tenant's journal. */
  wake(tenantId: string): void;
  /** See `Context`. */
  publishBindingChange(issuer: string, iamPrincipalId: string): void;
}

/** Coordination's side of the request pipeline (coordination-core, section 1.2). */
export function coordinationRuntime(parts: RuntimeParts): ServiceRuntime<Caller, Context> {
  const { settings, pool, log, metrics, counters, authenticator, health, wake } = parts;
  return {
    name: 'coordination',
    basePath: '/api/v1',
    pool,
    log,
    metrics,
    idempotency: {
      storedSeconds: settings.CP_IDEMPOTENCY_TTL_SECONDS,
      waitSeconds: settings.CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS,
    },
    pipelineCodes: new Set(pipelineCodes),
    bodyBytesMax: () => settings.CP_MAX_BODY_BYTES,
    sizeBeforeCredential: () => true,
    authenticate: (head, endpoint) => authenticator.authenticate(head, endpoint),
    authorize: refuseMissingPermission,
    keyOwner: ({ tenantId, principalId }) => ({ tenantId, principalId }),
    async lockCaller(tx, caller) {
      if (caller === nobody) return;
      await requireActiveCaller(tx, caller);
    },
    context: contextOf,
    beforeCommit: flushEvents,
    committed(context) {
      for (const act of context.afterCommit) act();
      if (context.wroteEvents) wake(context.tenantId);
    },
    refused({ code }) {
      if (['stale_claim', 'run_not_active'].includes(code)) counters.staleFencingRejections.inc();
    },
    render: renderError,
  };

  function contextOf(call: Call<Caller>, db: Db, transactional: boolean): Context {
    return {
      db,
      transactional,
      caller: call.caller,
      tenantId: call.caller.tenantId,
      settings,
      log,
      counters,
      health,
      endpoint: call.endpoint,
      requestId: call.requestId,
      correlationId: call.correlationId,
      traceRunId: call.traceRunId,
      drafts: [],
      wroteEvents: false,
      afterCommit: [],
      publishBindingChange: parts.publishBindingChange,
    };
  }
}

function refuseMissingPermission({ permissions }: Caller, { permission }: Operation): void {
  if (permission.length === 0 || permission.some((name) => holds(permissions, name as Permission))) return;
  fail('permission_denied', { required: permission });
}

/** The error envelope (section 1.4). Nothing of an unhandled failure is shown. */
export function renderError(error: unknown, requestId: string): RenderedError {
  const envelope = (
    code: ErrorCode,
    details: object,
    headers?: Readonly<Record<string, string>>,
  ): RenderedError => {
    const { status, when } = errors[code];
    return {
      status,
      body: { error: { code, message: when, details, requestId } },
      ...(headers && { headers }),
    };
  };
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
