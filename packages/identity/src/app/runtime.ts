import type { Call, ServiceRuntime } from '@baton/kernel/runtime';
import { isTemporary } from '@baton/kernel/command';
import type { Db, Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { RequestMetrics } from '@baton/kernel/metrics';
import { InvalidRequest, Refusal, type RenderedError, UnstorableText } from '@baton/kernel/refusal';
import type { Operation } from '@baton/kernel/service';
import { type AdminSecrets, createAdmission } from './caller.ts';
import type { Caller } from '../provisioning/caller.ts';
import type { Settings } from './settings.ts';
import type { Context } from './context.ts';
import type { Counters } from '../service/counters.ts';
import { FailureLimits } from '../credentials/failure-limits/failure-limits.ts';
import { type ErrorCode, errors } from '../provisioning/errors.ts';
import { flushRecords } from '../records/journal/journal.ts';
import type { JournalWatch } from '../records/journal/journal-watch.ts';
import type { ProviderKeys } from '../sign-in/identity-providers/provider-keys.ts';
import type { ClientLookup, TokenLookup } from '../issuing/exchange/credential-lookup.ts';
import { oauthError } from '../issuing/oauth2/oauth2-errors.ts';
import { createScimAdmission } from '../provisioning/scim/access/scim-access.ts';
import { scimError } from '../provisioning/scim/protocol/scim-errors.ts';
import type { SigningKeys } from '../issuing/signing-keys/signing-keys.ts';
import type { ExchangeLedger } from '../issuing/exchange/exchange-ledger.ts';
import type { UpstreamDirectory } from '../provisioning/upstream-directory/upstream-directory.ts';

export const bodyBytesMax = 1_048_576;

/** What every SCIM endpoint may answer before its own checks. */
const provisioningCodes: readonly ErrorCode[] = [
  'rate_limited',
  'scim_unauthorized',
  'scim_service_identity_required',
  'scim_scope_required',
  'scim_source_required',
  'scim_identity_provider_inactive',
  'scim_unsupported_media_type',
];

/** What any endpoint may answer without declaring it: the steps before its own. */
export const pipelineCodes: readonly ErrorCode[] = [
  'unauthorized',
  'not_found',
  'method_not_allowed',
  'request_too_large',
  'invalid_request',
  'validation_error',
  'internal_error',
  'unavailable',
  ...provisioningCodes,
];

/** The pipeline's own codes that can really happen at one endpoint, for its documentation. */
export function pipelineCodesOf(endpoint: Operation): readonly ErrorCode[] {
  const isPossible = (code: ErrorCode) =>
    endpoint.body !== undefined || code !== 'scim_unsupported_media_type';
  return [
    ...(endpoint.auth === undefined ? (['unauthorized', 'rate_limited'] as const) : []),
    ...(endpoint.auth === 'provisioning' ? provisioningCodes.filter(isPossible) : []),
    ...(endpoint.body === undefined ? [] : (['request_too_large', 'validation_error'] as const)),
    'invalid_request',
    'internal_error',
    'unavailable',
  ];
}

export interface RuntimeParts {
  settings: Settings;
  adminSecrets: AdminSecrets;
  pool: Pool;
  log: Logger;
  metrics: RequestMetrics;
  counters: Counters;
  signingKeys: SigningKeys;
  presentedTokens: TokenLookup;
  clients: ClientLookup;
  providerKeys: ProviderKeys;
  upstream: UpstreamDirectory;
  ledger: ExchangeLedger;
  journalWatch: JournalWatch;
}

/** Identity's side of the request pipeline (contract, section 1). */
export function identityRuntime(parts: RuntimeParts): ServiceRuntime<Caller, Context> {
  const {
    settings,
    adminSecrets,
    pool,
    log,
    metrics,
    counters,
    signingKeys,
    providerKeys,
    upstream,
    presentedTokens,
    clients,
    ledger,
    journalWatch,
  } = parts;
  const failureLimits = new FailureLimits(settings, errors);
  const admit = createAdmission(settings.IAM_BOOTSTRAP_TOKEN, adminSecrets, { failureLimits, counters });
  const admitScim = createScimAdmission({ ...parts, failureLimits });
  return {
    name: 'identity',
    basePath: '/api/v1',
    pool,
    log,
    metrics,
    pipelineCodes: new Set(pipelineCodes),
    bodyBytesMax: () => bodyBytesMax,
    sizeBeforeCredential: ({ auth }) => auth !== undefined,
    authenticate: async (head, endpoint) =>
      endpoint.auth === 'provisioning' ? admitScim(head, endpoint) : admit(head, endpoint),
    authorize: () => undefined,
    context: contextOf,
    beforeCommit: flushRecords,
    render: (error, _requestId, path) => renderAt(path, error),
  };

  function contextOf(call: Call<Caller>, db: Db): Context {
    return {
      db,
      caller: call.caller,
      settings,
      pool,
      signingKeys,
      providerKeys,
      upstream,
      presentedTokens,
      clients,
      ledger,
      journalWatch,
      failureLimits,
      counters,
      log,
      endpoint: call.endpoint,
      requestId: call.requestId,
      address: call.address,
      whenGone: call.whenGone,
      headers: call.headers,
      events: [],
      audits: [],
    };
  }
}

/** A failure in the envelope of what was asked for: SCIM and OAuth 2.0 have their own. */
export function renderAt(path: string, error: unknown): RenderedError {
  if (path.startsWith('/scim/')) return renderScimError(error);
  return path.startsWith('/oauth2/') ? oauthError(renderError(error)) : renderError(error);
}

/** The error envelope (contract, 1.8 to 1.13): a code, or the list of what is wrong with the form of a request. */
export function renderError(error: unknown): RenderedError {
  if (error instanceof Refusal && error.code in errors)
    return {
      status: error.status ?? errors[error.code as ErrorCode].status,
      body: { detail: error.code },
      headers: error.headers,
    };
  if (error instanceof InvalidRequest) {
    const detail = error.problems.map(({ type, in: where, path, message }) => ({
      type,
      loc: [where, ...path],
      msg: message,
    }));
    return { status: 422, body: { detail } };
  }
  if (error instanceof UnstorableText) {
    const msg = 'must not hold NUL characters or halves of surrogate pairs';
    return { status: 422, body: { detail: [{ type: error.code, loc: locationOf(error.path), msg }] } };
  }
  if (isTemporary(error))
    return { status: 503, body: { detail: 'unavailable' }, headers: { 'retry-after': '1' } };
  return { status: 500, body: { detail: 'Internal Server Error' } };
}

/** What is no HTTP has no path, so it has the usual envelope; and 400, because nothing of it could be read. */
export function renderUnreadable(error: unknown): RenderedError {
  return { ...renderError(error), status: 400 };
}

/** The same failures in the envelope of RFC 7644. */
function renderScimError(error: unknown): RenderedError {
  if (error instanceof Refusal && error.code in errors)
    return scimError(error.code as ErrorCode, error.headers);
  if (error instanceof InvalidRequest) return scimError('invalid_request');
  if (error instanceof UnstorableText) return scimError('validation_error');
  if (isTemporary(error)) return scimError('unavailable', { 'retry-after': '1' });
  return scimError('internal_error');
}

/** `/amr/0` of a body, `query.reason`, `path.key` */
function locationOf(path: string): string[] {
  return path.startsWith('/') ? ['body', ...path.slice(1).split('/')] : path.split('.');
}
