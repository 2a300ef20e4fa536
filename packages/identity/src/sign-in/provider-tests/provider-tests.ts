import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { auditDraft } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import type { StoredProvider } from '../identity-providers/identity-provider.ts';
import { getStoredProvider, requireIssuer } from '../identity-providers/identity-providers.ts';
import type { KeySet } from '../identity-providers/key-set.ts';
import { admits } from '../identity-providers/self-admission.ts';
import { findPersonOf, mayEnter } from '../linking/link-person.ts';
import { type UpstreamIdentity, verifyUpstreamToken } from '../upstream-token/upstream-token.ts';
import { discover, failed, passed, readKeys, requestRedirect, skipped } from './provider-probe.ts';
import type { ProviderTest, ProviderTestRequest, TestOutcome, TestStep } from './provider-test.ts';

const groupsShownMax = 50;
const groupLengthMax = 200;
/** A test sends three requests to the provider, each of which may take 5 seconds. */
const probeMsMax = 12_000;

/** Each test sends up to three requests to an address that an administrator chose. */
const testsOfTenant = new ConcurrencyLimit('provider tests of the tenant', {
  runningMax: 2,
  queuedMax: 10,
  waitMsMax: 15_000,
});

/**
 * Tests a provider step by step, and changes nothing (see docs/reference/providers.md#test-a-provider). A failed step
 * is part of the response.
 * @throws Refusal `identity_provider_not_found`, `invalid_issuer`
 */
export async function testIdentityProvider(
  context: Context,
  tenantId: string,
  key: string,
  request: ProviderTestRequest,
): Promise<ProviderTest> {
  const stored = await getStoredProvider(context.db, tenantId, key);
  const provider = candidateOf(context, stored, request);
  const test = await testsOfTenant.run(tenantId, () => runSteps(context, provider, request));
  const results = test.steps.map(({ step, status }) => `${step}:${status}`).join(' ');
  await context.ledger.record({
    audit: auditDraft(context, {
      tenantId,
      action: 'identity_providers.test',
      resource: ['identity_provider', provider.id],
      reason: `provider:${key} ${results}`,
    }),
  });
  return test;
}

/** The provider as it would be after the change that the request proposes. */
function candidateOf(
  context: Context,
  stored: StoredProvider,
  { issuer = stored.registered_issuer, audience = stored.audience }: ProviderTestRequest,
): StoredProvider {
  return { ...stored, issuer: requireIssuer(context, issuer), registered_issuer: issuer, audience };
}

async function runSteps(
  context: Context,
  provider: StoredProvider,
  { redirectUri, token }: ProviderTestRequest,
): Promise<ProviderTest> {
  const { outbound } = context;
  const deadline = AbortSignal.timeout(probeMsMax);
  const { step: discovery, endpoints } = await discover(outbound, provider, deadline);
  const { step: keysStep, keys } = await readKeys(outbound, provider, endpoints, deadline);
  const client = { clientId: provider.audience, redirectUri };
  const redirect = await requestRedirect(outbound, client, endpoints, deadline);
  const { step: tokenStep, identity } = await verifyToken(context, provider, keys, token);
  const { issuer, audience } = provider;
  const steps = [discovery, keysStep, redirect, tokenStep, claimsStep(identity)];
  if (identity === undefined) return { issuer, audience, steps, person: null, outcome: null };
  const { subject, displayName = null, email = null, isEmailVerified: emailVerified } = identity;
  const groups = (identity.groups ?? [])
    .slice(0, groupsShownMax)
    .map((name) => name.slice(0, groupLengthMax));
  return {
    issuer,
    audience,
    steps,
    person: { subject, displayName, email, emailVerified, groups },
    outcome: await outcomeOf(context, provider, identity),
  };
}

async function verifyToken(
  context: Context,
  provider: StoredProvider,
  keys: KeySet | undefined,
  token: string | undefined,
): Promise<{ step: TestStep; identity: UpstreamIdentity | undefined }> {
  const none = (step: TestStep) => ({ step, identity: undefined });
  if (token === undefined) return none(skipped('token', 'Needs a sign-in.'));
  if (keys === undefined) return none(skipped('token', 'Needs the keys of the provider.'));
  try {
    const found = { keys, isStale: false, isNew: true };
    const identity = await verifyUpstreamToken(provider, token, found, context);
    return { step: passed('token', 'The token is valid for Baton.'), identity };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return none(failed('token', error.code, 'Baton rejects the token; the code is in the list of errors.'));
  }
}

function claimsStep(identity: UpstreamIdentity | undefined): TestStep {
  if (identity === undefined) return skipped('claims', 'Needs a valid token.');
  const missing = [
    ...(identity.displayName === undefined ? ['a name'] : []),
    ...(identity.email === undefined ? ['an e-mail address'] : []),
  ];
  return missing.length === 0
    ? passed('claims', 'The token has name and e-mail address.')
    : failed(
        'claims',
        'claims_missing',
        `The token has no ${missing.join(' and ')} in the configured claims.`,
      );
}

/** What a sign-in with the token would result in now. */
async function outcomeOf(
  context: Context,
  provider: StoredProvider,
  identity: UpstreamIdentity,
): Promise<TestOutcome> {
  const refused = (code: string) => ({ result: 'refused', code, role: null }) as const;
  if (provider.status !== 'active' || provider.principal_kind === 'none')
    return refused('identity_provider_not_found');
  const role = admits(provider.admit, identity) ? (provider.admit?.role ?? null) : null;
  const isNew = await findPersonOf(context.db, provider, identity).then(
    (person) => person === undefined,
    (error: unknown) => {
      if (error instanceof Refusal) return error.code;
      throw error;
    },
  );
  if (typeof isNew === 'string') return refused(isNew);
  if (!isNew) return { result: 'signs_in', code: null, role };
  if (!(await mayEnter(context.db, provider, identity)))
    return { result: 'requested', code: null, role: null };
  return { result: role === null ? 'created' : 'admitted', code: null, role };
}
