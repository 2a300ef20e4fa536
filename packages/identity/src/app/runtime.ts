import type { Call, ServiceRuntime } from '@baton/kernel/runtime';
import type { Db, Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { RequestMetrics } from '@baton/kernel/metrics';
import type { Operation } from '@baton/kernel/service';
import { type AdminSecrets, createAdmission } from './caller.ts';
import type { Caller } from '../provisioning/caller.ts';
import type { Settings } from './settings.ts';
import type { Context } from './context.ts';
import { renderError, standardEnvelopes } from './error-envelopes.ts';
import type { Counters } from '../service/counters.ts';
import { FailureLimits } from '../credentials/failure-limits/failure-limits.ts';
import { type ErrorCode, errors } from '../provisioning/errors.ts';
import { flushRecords } from '../records/journal/journal.ts';
import type { JournalWatch } from '../records/journal/journal-watch.ts';
import type { ProviderKeys } from '../sign-in/identity-providers/provider-keys.ts';
import type { ClientLookup, TokenLookup } from '../issuing/exchange/credential-lookup.ts';
import { createScimAdmission } from '../provisioning/scim/access/scim-access.ts';
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
    render: renderError,
    envelopes: standardEnvelopes,
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
