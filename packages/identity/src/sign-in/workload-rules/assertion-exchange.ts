import { randomUUID } from 'node:crypto';
import type { Pool } from '@baton/kernel/database/db';
import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit, poolInTurns } from '@baton/kernel/limits/concurrency-limit';
import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { AssertionExchange } from '../../issuing/context.ts';
import { signAccessToken } from '../../issuing/exchange/access-token.ts';
import type { LedgerEntry } from '../../issuing/exchange/exchange-ledger.ts';
import type { PresentedAssertion } from '../../issuing/oauth2/assertion-exchange.ts';
import { auditDraft } from '../../records/audit.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { StoredProvider } from '../identity-providers/identity-provider.ts';
import { verifyUpstreamToken } from '../upstream-token/upstream-token.ts';
import type { AcceptingRule } from './accepting-rule.ts';
import { findAcceptingRules, findProvidersOf } from './assertion.sql.ts';
import { meets, mostSpecific } from './claim-condition.ts';
import { decoyVerification, readNamesIn } from './unverified-assertion.ts';
import { refuseUsed, type SingleUse, useAssertion } from './used-assertions.ts';

type Claims = Readonly<Record<string, unknown>>;

/** The share of the connections that presented assertions may use, so that other requests always find a free one. */
const connectionsShare = 0.25;

interface ExchangeContext extends Context {
  /**
   * Assertions of single use wait for each other's locks anyway, so all but one of a provider wait in a queue of this
   * process, where they hold no connection.
   */
  readonly usesOfProvider: ConcurrencyLimit;
}

/**
 * The exchange of assertions under workload rules (see docs/reference/workload-identity.md#exchange). Every defect of
 * an assertion gets the same response.
 */
export function createAssertionExchange(
  tools: Pick<Context, 'settings' | 'providerKeys' | 'outbound' | 'authorizationServer'>,
): AssertionExchange {
  const { settings } = tools;
  const limit = new ConcurrencyLimit('assertions', {
    queuedMax: 500,
    waitMsMax: 5000,
    runningMax: Math.max(1, Math.floor(settings.IAM_DATABASE_CONNECTIONS_MAX * connectionsShare)),
  });
  const usesOfProvider = new ConcurrencyLimit('single-use assertions of the provider', {
    queuedMax: 500,
    waitMsMax: 5000,
    runningMax: 1,
  });
  return (context, presented) => {
    const inTurns: Pool = {
      ...poolInTurns(context.pool, limit, ''),
      transaction: (work) => limit.run('', () => context.pool.transaction(work)),
    };
    const own = { ...context, ...tools, pool: inTurns, db: inTurns, usesOfProvider };
    // Counted only by address, as for sign-ins, so that nobody can stop the pipelines of others.
    return limitFailures(context, undefined, () => exchangeAssertion(own, presented));
  };
}

async function exchangeAssertion(context: ExchangeContext, presented: PresentedAssertion) {
  // Without a signing key the request fails here, before anything is stored.
  context.signingKeys.current();
  const provider = await findProvider(context, presented);
  const claims = await verify(context, provider, presented.assertion);
  const { audience, scopes } = presented;
  const rules = await context.db.rows(
    findAcceptingRules(provider.id, audience, context.settings.IAM_PAT_LAST_USED_INTERVAL_SECONDS),
  );
  const matching = rules.filter((rule) => meets(claims, rule.claims));
  const rule = mostSpecific(matching);
  if (rule === undefined)
    return denyAssertion(context, provider, matching.length === 0 ? 'no_rule_matches' : 'rules_ambiguous');
  if (rule.refusal !== null) return denyAssertion(context, provider, rule.refusal);
  if ((claims['exp'] as number) - (claims['iat'] as number) > rule.lifetime_seconds_max)
    return denyAssertion(context, provider, 'lifetime_too_long');

  const ceiling = grantableScopes(context, rule, audience);
  if (ceiling === undefined) return denyRequest(context, provider, rule, audience, 'audience_not_allowed');
  if (!scopes.every((scope) => ceiling.includes(scope)))
    return denyRequest(context, provider, rule, audience, 'scope_not_allowed');
  const grant = { audience, scope: scopes.length === 0 ? ceiling : [...scopes], ceiling };
  if (!rule.single_use) return issueToken(context, provider, rule, grant);
  const use = { providerId: provider.id, ruleId: rule.id, claims };
  return issueOnce(context, provider, rule, grant, use);
}

/**
 * The provider that an assertion names. The issuer has not been proven yet.
 * @throws Refusal `invalid_assertion` after as much work as a wrong signature takes
 */
async function findProvider(
  context: Context,
  { assertion, tenantId }: PresentedAssertion,
): Promise<StoredProvider> {
  const names = readNamesIn(assertion);
  const found =
    names === undefined
      ? []
      : await context.db.rows(findProvidersOf(names.issuer, names.audiences, tenantId ?? null));
  const [provider, another] = found;
  if (provider !== undefined && another === undefined) return provider;
  decoyVerification(assertion);
  context.counters.presented('assertion', 'unknown');
  const reason = provider === undefined ? 'no provider of the assertion' : 'providers of several tenants';
  return fail('invalid_assertion', {}, { reason });
}

/**
 * @returns the claims. @throws Refusal `invalid_assertion` for any defect; `unavailable` without the provider's keys
 */
async function verify(context: Context, provider: StoredProvider, assertion: string): Promise<Claims> {
  try {
    const found = await context.providerKeys.keysOf(provider);
    return (await verifyUpstreamToken(provider, assertion, found, context)).claims;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, headers } = error;
    context.providerKeys.noteRefusal(provider, code);
    // Not awaited: the response must not take longer than the one to an assertion from an unknown issuer.
    recordDenial(context, provider, code).catch((failure: unknown) =>
      context.log.error({ err: failure }, 'a refused assertion was not audited'),
    );
    if (code === 'identity_provider_unavailable')
      fail('unavailable', {}, { headers, reason: code, cause: error });
    return fail('invalid_assertion', {}, { reason: error.reason ?? code });
  }
}

/**
 * The scopes that may be granted: those within both ceilings. A rule can't prove a membership, so it never gets
 * privileged scopes. Undefined if the audience is not allowed.
 */
function grantableScopes({ settings }: Context, rule: AcceptingRule, audience: string): string[] | undefined {
  const { audiences, scope_ceiling, allowed_scopes: allowed } = rule;
  if (!audiences.includes(audience) || allowed === null) return undefined;
  return sortedSet(
    scope_ceiling.filter(
      (scope) => allowed.includes(scope) && isScope(scope) && !settings.privilegedScopes.has(scope),
    ),
  );
}

interface AssertionGrant {
  readonly audience: string;
  readonly scope: string[];
  readonly ceiling: string[];
}

/**
 * Issues a token under a rule that accepts each assertion once. The assertion is used up in the transaction that
 * records the token, after everything that can fail, so that a job may try again after a failure of this service.
 */
async function issueOnce(
  context: ExchangeContext,
  provider: StoredProvider,
  rule: AcceptingRule,
  grant: AssertionGrant,
  use: SingleUse,
) {
  try {
    await refuseUsed(context.db, use);
    const { signing, entry, answer } = makeToken(context, provider, rule, grant);
    const accessToken = await signing;
    await context.usesOfProvider.run(provider.id, () =>
      context.pool.transaction(async (db) => {
        await useAssertion(db, context, use);
        await context.ledger.recordInside(db, entry);
      }),
    );
    return answer(accessToken);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_assertion')
      await denyAssertion(context, provider, 'assertion_used');
    throw error;
  }
}

async function issueToken(
  context: Context,
  provider: StoredProvider,
  rule: AcceptingRule,
  grant: AssertionGrant,
) {
  const { signing, entry, answer } = makeToken(context, provider, rule, grant);
  const [accessToken] = await Promise.all([signing, context.ledger.record(entry)]);
  return answer(accessToken);
}

/** The token of an assertion, while it is being signed, and its audit record. */
function makeToken(
  context: Context,
  provider: StoredProvider,
  rule: AcceptingRule,
  { audience, scope, ceiling }: AssertionGrant,
) {
  const sessionId = randomUUID();
  const signing = signAccessToken(context, {
    tenantId: provider.tenant_id,
    principalId: rule.principal_id,
    principalKind: rule.principal_kind,
    credentialId: rule.id,
    clientId: `idp:${provider.key}`,
    audience,
    // Not null, because the rule's audience was found.
    algorithm: rule.signing_algorithm as SigningAlgorithm,
    scope,
    nowSeconds: rule.now_seconds,
    ...(rule.principal_kind !== 'service_account' && { session: { id: sessionId, scopeCeiling: ceiling } }),
  });
  const entry: LedgerEntry = {
    audit: auditDraft(context, {
      tenantId: provider.tenant_id,
      action: 'workload_rules.exchange',
      resource: ['workload_rule', rule.id],
      reason: `provider:${provider.key} rule:${rule.key} audience:${audience} session:${sessionId}`,
      actor: rule.principal_id,
    }),
    used: rule.is_use_due ? ['workload_rule', rule.id] : undefined,
  };
  const answer = (accessToken: string) => {
    context.counters.presented('assertion', 'exchanged');
    const expiresIn = context.settings.IAM_TOKEN_TTL_SECONDS;
    return { accessToken, tokenType: 'Bearer' as const, expiresIn, scope };
  };
  return { signing, entry, answer };
}

/** Refuses a genuine assertion. */
async function denyAssertion(context: Context, provider: StoredProvider, why: string): Promise<never> {
  await recordDenial(context, provider, why);
  return fail('invalid_assertion', {}, { reason: why });
}

function recordDenial(context: Context, provider: StoredProvider, why: string): Promise<void> {
  context.counters.presented('assertion', why);
  return context.ledger.record({
    audit: auditDraft(context, {
      tenantId: provider.tenant_id,
      action: 'workload_rules.exchange',
      resource: ['identity_provider', provider.id],
      outcome: 'denied',
      reason: why,
      actor: `provider:${provider.key}`,
    }),
  });
}

/** Refuses a request with an assertion that a rule accepts. */
async function denyRequest(
  context: Context,
  provider: StoredProvider,
  rule: AcceptingRule,
  audience: string,
  code: 'audience_not_allowed' | 'scope_not_allowed',
): Promise<never> {
  context.counters.presented('assertion', code);
  await context.ledger.record({
    audit: auditDraft(context, {
      tenantId: provider.tenant_id,
      action: 'workload_rules.exchange',
      resource: ['workload_rule', rule.id],
      outcome: 'denied',
      reason: `provider:${provider.key} rule:${rule.key} audience:${audience} ${code}`,
      actor: rule.principal_id,
    }),
  });
  return fail(code);
}
