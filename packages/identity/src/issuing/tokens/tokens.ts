import { auditDraft } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import { audienceLengthMax } from '../../service/fields.ts';
import { isSecretOf } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { signAccessToken } from '../token-exchange/access-token.ts';
import type { ClientExchangeRequest } from './tokens.api.ts';
import type { ClientRow } from './tokens.sql.ts';

/**
 * Exchanges client credentials for an access token with exactly the scopes that are asked for (contract, section 8.5).
 * @throws Refusal `invalid_client`, `audience_not_allowed`, `scope_not_allowed`, `rate_limited`
 */
export function exchangeClientCredentials(context: Context, request: ClientExchangeRequest) {
  return limitFailures(context, `client:${request.clientId}`, () => exchangeUnlimited(context, request));
}

async function exchangeUnlimited(context: Context, request: ClientExchangeRequest) {
  const { settings, signingKeys, ledger, counters } = context;
  const { audience, scopes } = request;
  signingKeys.current();
  const client = await identifyClient(context, request);
  const refuse = async (
    code: 'invalid_client' | 'audience_not_allowed' | 'scope_not_allowed',
    why: string,
  ) => {
    counters.presented('client', why);
    const reason = `audience:${nameable(audience)} ${why}`;
    await ledger.record({ audit: auditOf(context, client, 'denied', reason) });
    return fail(code, {}, { reason: `service_account:${client.id} ${why}` });
  };
  if (client.refusal !== null) return refuse('invalid_client', client.refusal);
  const { allowed_scopes: allowed, scope_ceiling: ceiling } = client;
  if (!client.audiences.includes(audience) || allowed === null)
    return refuse('audience_not_allowed', 'audience_not_allowed');
  const isGrantable = (scope: string) =>
    ceiling.includes(scope) && allowed.includes(scope) && scope !== settings.IAM_PEOPLE_SCOPE;
  if (!scopes.every(isGrantable)) return refuse('scope_not_allowed', 'scope_not_allowed');

  // Signed while it is recorded: whoever can't be signed for is refused before that (decision 0103).
  const signing = signAccessToken(context, {
    tenantId: client.tenant_id,
    principalId: client.principal_id,
    principalKind: 'service_account',
    credentialId: client.id,
    audience,
    scope: scopes,
    nowSeconds: client.now_seconds,
  });
  const recording = ledger.record({
    audit: auditOf(context, client, 'allowed', `audience:${audience}`),
    used: client.is_use_due ? ['service_account', client.id] : undefined,
  });
  const [accessToken] = await Promise.all([signing, recording]);
  counters.presented('client', 'exchanged');
  return { accessToken, tokenType: 'Bearer' as const, expiresIn: settings.IAM_TOKEN_TTL_SECONDS };
}

/** The account whose secret is presented, which may be refused yet. @throws Refusal `invalid_client` */
async function identifyClient(
  context: Context,
  { clientId, clientSecret, audience }: ClientExchangeRequest,
): Promise<ClientRow> {
  const { clients, ledger, counters, log } = context;
  const client = await clients.call({ clientId, audience });
  const isGenuine = isSecretOf(clientSecret, client?.secret_hash);
  if (client !== undefined && isGenuine) return client;
  counters.presented('client', 'unknown');
  if (client === undefined) return fail('invalid_client', {}, { reason: 'unknown client' });
  // Not awaited: the answer must not take longer than the one to a client that nobody knows.
  ledger
    .record({ audit: auditOf(context, client, 'denied', `audience:${nameable(audience)} wrong_secret`) })
    .catch((error: unknown) => log.error({ err: error }, 'a refused client was not audited'));
  return fail('invalid_client', {}, { reason: `service_account:${client.id} wrong_secret` });
}

/** What was asked for must not fill the record: no audience has a longer key. */
function nameable(audience: string): string {
  return audience.slice(0, audienceLengthMax).toWellFormed();
}

function auditOf(context: Context, client: ClientRow, outcome: 'allowed' | 'denied', reason: string) {
  return auditDraft(context, {
    tenantId: client.tenant_id,
    action: 'tokens.exchange',
    resource: ['service_account', client.id],
    outcome,
    reason,
    actor: client.principal_id,
  });
}
