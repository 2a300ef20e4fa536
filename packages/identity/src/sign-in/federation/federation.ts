import { randomUUID } from 'node:crypto';
import { sqlState, violatedConstraint } from '@baton/kernel/database/db';
import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import { lockMember } from '../../directory/principals/principals.ts';
import { signAccessToken } from '../../issuing/exchange/access-token.ts';
import { audit, auditDraft } from '../../records/audit.ts';
import { flushRecords } from '../../records/journal/journal.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import type { StartedSession } from '../browser-sessions/browser-session.ts';
import { startBrowserSession } from '../browser-sessions/browser-sessions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import { requireOpenProvider, shareVerifiedProvider } from '../identity-providers/identity-providers.ts';
import { admits } from '../identity-providers/self-admission.ts';
import { projectGroups } from '../linking/group-projection.ts';
import { LinkChanged, type LinkedPerson, linkPerson } from '../linking/link-person.ts';
import { requestAdmission } from '../sign-in-requests/request-admission.ts';
import { type UpstreamIdentity, verifyUpstreamToken } from '../upstream-token/upstream-token.ts';
import { signAdmission } from './admission-statement.ts';
import { findGrantBasis, type GrantBasisRow, insertFederatedContext } from './federation.sql.ts';
import { decideScopes } from './grants.ts';
import type {
  FederatedSignIn,
  FederatedSignInRequest,
  FederatedToken,
  FederatedTokenRequest,
} from './sign-in.ts';

/** A confirmed sign-in, inside the transaction that stores it. */
interface SignIn extends LinkedPerson {
  readonly provider: OpenProvider;
  readonly identity: UpstreamIdentity;
  /** The stored sign-in. Undefined for a non-human principal. */
  readonly contextId: string | undefined;
  /** The stored time, never later than now. Null for a non-human principal. */
  readonly authTime: string | null;
  readonly view: FederatedSignIn;
}

type Action = 'federation.authenticate' | 'federation.exchange' | 'federation.sign_in';
type Denial = 'human_principal_required' | 'audience_not_allowed' | 'scope_not_allowed';

const attemptsMax = 3;

/**
 * The maximum number of concurrent sign-ins of one person at one provider in this process. Such sign-ins wait for each
 * other's locks anyway, so any beyond this number wait in a queue, where they hold no connection.
 */
const signInsOfPerson = new ConcurrencyLimit('sign-ins of the person', {
  runningMax: 2,
  queuedMax: 500,
  waitMsMax: 5000,
});
const acrLengthMax = 200;

/**
 * Confirms a sign-in and issues no token; afterwards, platform access tokens may be issued (see
 * docs/reference/providers.md#sign-in).
 * @throws Refusal as `confirm`
 */
export function authenticateFederatedUser(
  context: Context,
  tenantId: string,
  request: FederatedSignInRequest,
): Promise<FederatedSignIn> {
  return confirm(context, tenantId, request, 'federation.authenticate', async (inside, signIn) => {
    const acr = [...(signIn.identity.acr ?? 'none')].slice(0, acrLengthMax).join('');
    recordSignIn(inside, signIn, 'federation.authenticate', 'allowed', `acr:${acr}${staleMark(signIn)}`);
    return signIn.view;
  });
}

/**
 * Confirms a sign-in and issues an access token. If the token is denied, the sign-in is still stored.
 * @throws Refusal `human_principal_required`, `audience_not_allowed`, `scope_not_allowed`, and those of `confirm`
 */
export async function exchangeFederatedToken(
  context: Context,
  tenantId: string,
  request: FederatedTokenRequest,
): Promise<FederatedToken> {
  // Without a signing key the request fails here, before anything is stored.
  context.signingKeys.current();
  const { audience } = request;
  const outcome = await confirm(context, tenantId, request, 'federation.exchange', async (inside, signIn) => {
    const deny = (code: Denial, groups: readonly string[] = []) => {
      const needed = groups.map((key) => ` group:${key}`).join('');
      recordSignIn(inside, signIn, 'federation.exchange', 'denied', `audience:${audience} ${code}${needed}`);
      return { code };
    };
    return grant(inside, signIn, request, deny);
  });
  if ('code' in outcome) return fail(outcome.code);
  const { signing, stating, ...rest } = outcome;
  return { accessToken: await signing, admissionStatement: await stating, ...rest };
}

/**
 * Confirms a sign-in and begins a browser session with it (see docs/reference/providers.md#browser-session).
 * @throws Refusal `human_principal_required`, and those of `confirm`
 */
export async function startFederatedSession(
  context: Context,
  tenantId: string,
  request: FederatedSignInRequest,
): Promise<StartedSession> {
  const outcome = await confirm(context, tenantId, request, 'federation.sign_in', async (inside, signIn) => {
    const { principalId, externalIdentityId, contextId, provider, identity, authTime } = signIn;
    const isPerson = provider.principal_kind === 'human' && contextId !== undefined && authTime !== null;
    if (!isPerson) {
      recordSignIn(inside, signIn, 'federation.sign_in', 'denied', 'human_principal_required');
      return undefined;
    }
    const person = await lockMember(inside.db, tenantId, principalId);
    // Linking has locked and checked the person; a row that disappeared since is a concurrent change.
    if (person?.status !== 'active') return fail('principal_disabled');
    recordSignIn(inside, signIn, 'federation.sign_in', 'allowed', `session${staleMark(signIn)}`);
    const started = await startBrowserSession(inside, {
      tenantId,
      principalId,
      externalIdentityId,
      authenticationContextId: contextId,
      passkeyId: null,
      // The same client id as in a token from federation, so that disabling the provider revokes the session's access
      // tokens.
      clientId: `idp:${provider.key}`,
      acr: identity.acr,
      authTime,
    });
    return { ...started, displayName: person.display_name };
  });
  return outcome ?? fail('human_principal_required');
}

/** The response, while its token is being signed. */
type Unsigned = Omit<FederatedToken, 'accessToken' | 'admissionStatement'> & {
  readonly signing: Promise<string>;
  readonly stating: Promise<string> | null;
};

async function grant(
  context: Context,
  signIn: SignIn,
  { audience, scopes, withAdmission }: FederatedTokenRequest,
  deny: (code: Denial, groups?: readonly string[]) => { code: Denial },
): Promise<Unsigned | { code: Denial }> {
  const { privilegedScopes: privileged, IAM_TOKEN_TTL_SECONDS: expiresIn } = context.settings;
  const { principalId, principalKind, externalIdentityId, provider, identity, authTime } = signIn;
  if (!mayExchange(provider, principalKind)) return deny('human_principal_required');
  const isHuman = principalKind === 'human';
  const tenantId = provider.tenant_id;
  // Only people get privileged scopes from a group.
  const groupKeys = isHuman ? [...privileged.values()] : [];
  const wanted = { tenantId, principalId, audience, groupKeys };
  const basis = (await context.db.row(findGrantBasis(wanted))) as GrantBasisRow;
  const { allowed_scopes, signing_algorithm: algorithm, member_of: memberOf } = basis;
  if (allowed_scopes === null || algorithm === null) return deny('audience_not_allowed');
  const allowed = allowed_scopes.filter(isScope);
  const answer = decideScopes({ asked: scopes, allowed, memberOf, privileged });
  if (!answer.isGranted) return deny('scope_not_allowed', answer.groups);

  const sessionId = randomUUID();
  // Signing starts here, where a full queue can still refuse the request. The result is awaited after the commit,
  // because a disable waits until the commit.
  const signing = signAccessToken(context, {
    tenantId,
    principalId,
    principalKind,
    credentialId: externalIdentityId,
    clientId: `idp:${provider.key}`,
    audience,
    algorithm,
    scope: answer.scope,
    nowSeconds: basis.now_seconds,
    session: { id: sessionId, scopeCeiling: answer.ceiling },
    ...(isHuman && { authTime, acr: identity.acr }),
  });
  // If the transaction fails, nothing awaits this promise; its rejection must not end the process as an unhandled one.
  signing.catch(() => undefined);
  const admit = withAdmission && isHuman && admits(provider.admit, identity) ? provider.admit : null;
  const person = { tenantId, principalId, audience, algorithm, nowSeconds: basis.now_seconds };
  const stating = admit && signAdmission(context, { ...person, provider, identity, role: admit.role });
  stating?.catch(() => undefined);
  const used = answer.used.map((scope) => ` privileged:${scope}@group:${privileged.get(scope)}`).join('');
  const reason = `audience:${audience} session:${sessionId}${used}${staleMark(signIn)}`;
  recordSignIn(context, signIn, 'federation.exchange', 'allowed', reason);
  const token = { tokenType: 'Bearer' as const, expiresIn, audience, scope: answer.scope };
  return { ...token, signing, stating, sessionId, ...signIn.view };
}

/**
 * A provider for programs also admits agents and workloads that are linked to its identities. Service accounts can't
 * use it, because they exchange a secret instead.
 */
function mayExchange({ principal_kind: kind }: OpenProvider, principalKind: string): boolean {
  return principalKind === 'human' || (kind === 'workload' && ['agent', 'workload'].includes(principalKind));
}

/**
 * Verifies a token, then signs the person in and runs `finish`, both in one transaction. The token is verified before
 * the transaction, because keys may have to be fetched. A refusal rolls everything back, and one audit row is written
 * for it.
 * @throws Refusal with the code of the first step that fails (see docs/reference/providers.md#verification and
 * docs/reference/providers.md#linking), `rate_limited`
 */
function confirm<T>(
  context: Context,
  tenantId: string,
  request: FederatedSignInRequest,
  action: Action,
  finish: (inside: Context, signIn: SignIn) => Promise<T>,
): Promise<T> {
  // Failures are counted by address only: if they were counted by provider, anyone could block all sign-ins.
  return limitFailures(context, undefined, () =>
    confirmUnlimited(context, tenantId, request, action, finish),
  );
}

async function confirmUnlimited<T>(
  context: Context,
  tenantId: string,
  { identityProvider, token }: FederatedSignInRequest,
  action: Action,
  finish: (inside: Context, signIn: SignIn) => Promise<T>,
): Promise<T> {
  const provider = await requireOpenProvider(context.db, tenantId, identityProvider);
  try {
    const found = await context.providerKeys.keysOf(provider);
    const identity = await verifyUpstreamToken(provider, token, found, context);
    const outcome = await signInsOfPerson.run(`${provider.id} ${identity.subject}`, () =>
      inTransaction(context, async (inside) => {
        const signIn = await signInPerson(inside, provider, identity, found.isStale);
        return signIn && { result: await finish(inside, signIn) };
      }),
    );
    if (outcome === undefined) return fail('admission_pending');
    context.counters.presented('upstream', 'signed_in');
    return outcome.result;
  } catch (error) {
    if (error instanceof Refusal && !['identity_provider_not_found', 'unavailable'].includes(error.code)) {
      context.counters.presented('upstream', error.code);
      context.providerKeys.noteRefusal(provider, error.code);
      await recordRefusal(context, provider, action, error.code);
    }
    throw error;
  }
}

/** @returns undefined for an unknown person, whose request is stored */
async function signInPerson(
  context: Context,
  verified: OpenProvider,
  identity: UpstreamIdentity,
  isStale: boolean,
): Promise<SignIn | undefined> {
  // The provider is read again, because it may have been disabled or changed while its keys were fetched.
  const provider = await shareVerifiedProvider(context.db, verified);
  const person = await linkPerson(context, provider, identity);
  if (person === undefined) return requestAdmission(context, provider, identity);
  const { principalId, principalKind } = person;
  const { acr, amr, authTime } = identity;
  const isHuman = principalKind === 'human';
  const recorded = isHuman ? await recordFederatedContext(context, provider, person, identity) : undefined;
  const groups = await projectGroups(context, provider, principalId, identity.groups);
  return {
    ...person,
    provider,
    identity,
    contextId: recorded?.id,
    authTime: recorded?.auth_time ?? null,
    view: {
      principalId,
      identityProvider: provider.key,
      groups,
      authenticationContext: { acr, amr: [...amr], authTime },
      identityProviderStale: isStale,
    },
  };
}

/** Records a person's sign-in through a provider. @returns its id and its time, which is never later than now */
export async function recordFederatedContext(
  { db }: Pick<Context, 'db'>,
  { tenant_id: tenantId, issuer }: OpenProvider,
  { principalId, externalIdentityId }: Pick<LinkedPerson, 'principalId' | 'externalIdentityId'>,
  { acr, amr, authTime }: UpstreamIdentity,
): Promise<{ id: string; auth_time: string }> {
  const seen = { tenantId, principalId, externalIdentityId, issuer, acr, amr: sortedSet(amr), authTime };
  const row = await db.row(insertFederatedContext({ id: randomUUID(), ...seen }));
  return row as NonNullable<typeof row>;
}

/**
 * Runs `work` in a transaction, three times at most: when two first sign-ins of one person run concurrently, the one
 * that fails is retried and then finds the person that the other has stored.
 * @throws Refusal `external_identity_conflict` if the last attempt also meets a concurrent change
 */
async function inTransaction<T>(context: Context, work: (inside: Context) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await context.pool.transaction(async (db) => {
        const inside: Context = { ...context, db, events: [], audits: [] };
        const result = await work(inside);
        await flushRecords(inside);
        return result;
      });
    } catch (error) {
      const isClash = violatedConstraint(error) !== undefined || error instanceof LinkChanged;
      const isSerializationFailure = ['40001', '40P01'].includes(sqlState(error) ?? '');
      if ((isClash || isSerializationFailure) && attempt < attemptsMax) continue;
      if (isClash) fail('external_identity_conflict', {}, { cause: error });
      throw error;
    }
  }
}

function staleMark({ view }: SignIn): string {
  return view.identityProviderStale ? ' jwks:stale' : '';
}

function recordSignIn(
  context: Context,
  { provider, principalId, externalIdentityId }: SignIn,
  action: Action,
  outcome: 'allowed' | 'denied',
  reason: string,
): void {
  audit(context, {
    tenantId: provider.tenant_id,
    action,
    resource: ['external_identity', externalIdentityId],
    outcome,
    reason: `provider:${provider.key} ${reason}`,
    actor: principalId,
  });
}

function recordRefusal(
  context: Context,
  provider: OpenProvider,
  action: Action,
  code: string,
): Promise<void> {
  return context.ledger.record({
    audit: auditDraft(context, {
      tenantId: provider.tenant_id,
      action,
      resource: ['identity_provider', provider.id],
      outcome: 'denied',
      reason: code,
      actor: `provider:${provider.key}`,
    }),
  });
}
