import { type AuditEntry, audit, auditDraft } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import {
  isSecretOf,
  type PresentedToken,
  parsePresentedToken,
  parseSessionToken,
} from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { CredentialRow, PresentedRow } from './credential.ts';
import type { ClientExchangeRequest } from './exchange.ts';

/** The resolve step, which exchange, introspect and revoke-self share (see docs/reference/tokens.md#resolve). */

/** How the kinds of credentials differ. The keys are the labels in the metrics. */
const kinds = {
  pat: { resource: 'platform_access_token', invalid: 'invalid_token', unknown: 'unknown_prefix' },
  client: { resource: 'service_account', invalid: 'invalid_client', unknown: 'unknown_client' },
  session: { resource: 'browser_session', invalid: 'invalid_token', unknown: 'unknown_prefix' },
} as const;

/** A credential as a request presents it, parsed. */
export interface Presented {
  readonly kind: keyof typeof kinds;
  readonly action: AuditAction;
  readonly secret: string;
  /**
   * The credential's public part, by which failures are counted; undefined if the string doesn't have the form of a
   * credential.
   */
  readonly publicName: string | undefined;
  /** The prefix of every reason in the service's log and the audit log. */
  readonly reasonPrefix: string;
  /** Denials are written by the shared ledger, or in the transaction of the command. */
  readonly writesDenials: 'by ledger' | 'in transaction';
}

/**
 * Parses a presented token.
 * @throws Refusal `rate_limited` when credentials from this address failed too often
 */
export function presentToken(
  { failureLimits, address }: Context,
  secret: string,
  action: AuditAction,
  writesDenials: Presented['writesDenials'] = 'by ledger',
): Presented & { readonly token: PresentedToken | undefined } {
  failureLimits.refuseAddress(address);
  const token = parsePresentedToken(secret);
  const publicName = token && `${token.kind}:${token.publicPrefix}`;
  const reasonPrefix = token === undefined ? '' : `pat:${token.publicPrefix}`;
  return { kind: 'pat', action, secret, publicName, reasonPrefix, writesDenials, token };
}

/** Like `presentToken`, for client credentials. */
export function presentClient(
  { failureLimits, address }: Context,
  { clientId, clientSecret, audience }: ClientExchangeRequest,
): Presented {
  failureLimits.refuseAddress(address);
  return {
    kind: 'client',
    action: 'tokens.exchange',
    secret: clientSecret,
    publicName: `client:${clientId}`,
    reasonPrefix: `audience:${audience}`,
    writesDenials: 'by ledger',
  };
}

/** Like `presentToken`, for the secret of a browser session. */
export function presentSession(
  { failureLimits, address }: Context,
  secret: string,
  action: AuditAction,
  writesDenials: Presented['writesDenials'] = 'by ledger',
): Presented & { readonly publicPrefix: string | undefined } {
  failureLimits.refuseAddress(address);
  const publicPrefix = parseSessionToken(secret);
  const publicName = publicPrefix && `session:${publicPrefix}`;
  return {
    kind: 'session',
    action,
    secret,
    publicName,
    reasonPrefix: publicName ?? '',
    writesDenials,
    publicPrefix,
  };
}

/**
 * Awaits the row of a presented credential and checks it: first the secret, then whether it is still valid.
 * @param found the row; undefined if no lookup was needed
 * @throws Refusal `invalid_token` or `invalid_client`; `rate_limited` instead after too many failures
 */
export async function resolveCredential<Row extends PresentedRow>(
  context: Context,
  presented: Presented,
  found: Promise<Row | undefined> | undefined,
): Promise<Row> {
  const row = await found;
  const isGenuine = isSecretOf(presented.secret, row?.secret_hash);
  if (row === undefined || !isGenuine) return refuseUnproven(context, presented, row);
  if (row.refusal !== null) return refuseCredential(context, presented, row, row.refusal);
  return row;
}

/**
 * Refuses a credential that is no longer valid. The response is the same for every reason; only the audit log contains
 * the reason.
 */
export async function refuseCredential(
  context: Context,
  presented: Presented,
  row: PresentedRow,
  why: string,
): Promise<never> {
  const reason = await recordDenial(context, presented, row, why, why);
  return failInvalid(context, presented, reason);
}

/** Refuses a request with a valid credential. */
export async function refuseRequest(
  context: Context,
  presented: Presented,
  row: PresentedRow,
  code: 'audience_not_allowed' | 'scope_not_allowed' | 'authentication_context_expired',
  asked?: string,
): Promise<never> {
  const reason = await recordDenial(context, presented, row, code, asked ? `${asked} ${code}` : code);
  return fail(code, {}, { reason });
}

/** The audit entry of a request with a credential. The actor is the principal that the credential belongs to. */
export function auditEntryOf(
  { kind, action, reasonPrefix }: Presented,
  row: PresentedRow,
  outcome: 'allowed' | 'denied',
  reason = '',
): AuditEntry {
  return {
    tenantId: row.tenant_id,
    action,
    resource: [kinds[kind].resource, row.id],
    outcome,
    reason: reason === '' ? reasonPrefix : `${reasonPrefix} ${reason}`,
    actor: row.principal_id,
  };
}

/** The credential whose use is recorded with the exchange. */
export function usedBy({ kind }: Presented, row: Pick<CredentialRow, 'id' | 'is_use_due'>) {
  if (kind === 'session' || !row.is_use_due) return undefined;
  return [kinds[kind].resource, row.id] as const;
}

/**
 * Refuses an unknown credential, or a wrong secret: counted and logged. A wrong secret of a known client is also
 * audited.
 */
function refuseUnproven(context: Context, presented: Presented, row: PresentedRow | undefined): never {
  const { kind, publicName, reasonPrefix } = presented;
  context.counters.presented(kind, 'unknown');
  if (publicName === undefined) return failInvalid(context, presented, 'no_token_of_ours');
  if (row === undefined) return failInvalid(context, presented, `${reasonPrefix} ${kinds[kind].unknown}`);
  const entry = auditEntryOf(presented, row, 'denied', 'wrong_secret');
  if (kind === 'client') {
    // Not awaited, because the response must not take longer than the response for an unknown client.
    context.ledger
      .record({ audit: auditDraft(context, entry) })
      .catch((error: unknown) => context.log.error({ err: error }, 'a refused client was not audited'));
  }
  return failInvalid(context, presented, reasonOf(entry));
}

async function recordDenial(
  context: Context,
  presented: Presented,
  row: PresentedRow,
  outcome: string,
  reason: string,
): Promise<string> {
  context.counters.presented(presented.kind, outcome);
  const entry = auditEntryOf(presented, row, 'denied', reason);
  if (presented.writesDenials === 'in transaction') audit(context, entry);
  else await context.ledger.record({ audit: auditDraft(context, entry) });
  return reasonOf(entry);
}

/** Counts the failure, then refuses the request. @throws Refusal `rate_limited` if the count is too high already */
function failInvalid(
  { failureLimits, address }: Context,
  { kind, publicName, writesDenials }: Presented,
  reason: string,
): never {
  failureLimits.count(address, publicName);
  return fail(kinds[kind].invalid, {}, { commits: writesDenials === 'in transaction', reason });
}

/** For the log. */
function reasonOf({ resource, reason }: AuditEntry): string {
  return `${resource[0]}:${resource[1]} ${reason}`;
}
