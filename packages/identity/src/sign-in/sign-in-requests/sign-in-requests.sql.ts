import { part, sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { StoredProvider } from '../identity-providers/identity-provider.ts';
import type { SignInRequestQuery, SignInRequestRow } from './sign-in-request.ts';

const columns = part`r.id, r.tenant_id, r.identity_provider_id, r.principal_id, r.issuer, r.subject, r.external_id,
      r.display_name, r.email, r.email_verified, r.attempts, r.created_at, r.last_attempt_at, r.expires_at, r.decided_at,
      r.decision_reason, p.key as identity_provider,
      case when r.status = 'pending' and r.expires_at <= clock_timestamp() then 'expired' else r.status end as status`;

/** The identity of a request, which is unique in a tenant. */
interface Asking {
  tenantId: string;
  issuer: string;
  subject: string;
}

/**
 * Deletes the request of a person who may make another one. A recently admitted request stays, because the person may
 * have signed in just before their identity was linked.
 */
export function deleteEndedRequest({ tenantId, issuer, subject }: Asking) {
  return sql`
    delete from sign_in_requests
    where tenant_id = ${tenantId} and issuer = ${issuer} and subject = ${subject}
      and (status <> 'admitted' and expires_at <= clock_timestamp()
        or status = 'admitted' and decided_at <= clock_timestamp() - interval '1 minute')`;
}

/** Counts an attempt. Name and e-mail don't change, because an administrator may already have seen them. */
export function updateAttempts({ tenantId, issuer, subject }: Asking) {
  return sql<{ id: string }>`
    update sign_in_requests set attempts = least(attempts + 1, 1000000), last_attempt_at = clock_timestamp()
    where tenant_id = ${tenantId} and issuer = ${issuer} and subject = ${subject}
    returning id`;
}

/** Requests of a tenant are created one at a time, so that their number is exact. */
export function lockTenantForRequests(tenantId: string) {
  return sql`select id from tenants where id = ${tenantId} for no key update`;
}

export function countPendingRequests({
  tenantId,
  providerId,
  addressHash,
}: {
  tenantId: string;
  providerId: string;
  addressHash: string;
}) {
  return sql<{ of_tenant: number; of_provider: number; of_address: number }>`
    select count(*) as of_tenant, count(*) filter (where identity_provider_id = ${providerId}) as of_provider,
      count(*) filter (where address_hash = ${addressHash}) as of_address
    from sign_in_requests
    where tenant_id = ${tenantId} and status = 'pending' and expires_at > clock_timestamp()`;
}

/** Deletes requests that ended long ago. */
export function deleteOldRequests(daysKept: number, rowsMax: number) {
  return sql<{ id: string }>`
    delete from sign_in_requests where id = any (array(
      select id from sign_in_requests where expires_at < now() - make_interval(days => ${daysKept})
      order by expires_at limit ${rowsMax} for update skip locked))
    returning id`;
}

/** Call it under the lock of the tenant, for a person without a request. No row if there is one. */
export function insertRequest(
  request: Asking & {
    id: string;
    providerId: string;
    principalId: string;
    externalId: string;
    displayName: string;
    email: string | null;
    emailVerified: boolean;
    expiresInSeconds: number;
    addressHash: string;
  },
) {
  return sql<{ id: string }>`
    insert into sign_in_requests (id, tenant_id, identity_provider_id, principal_id, issuer, subject, external_id,
      display_name, email, email_verified, expires_at, address_hash)
    values (${request.id}, ${request.tenantId}, ${request.providerId}, ${request.principalId}, ${request.issuer},
      ${request.subject}, ${request.externalId}, ${request.displayName}, ${request.email}, ${request.emailVerified},
      clock_timestamp() + make_interval(secs => ${request.expiresInSeconds}), ${request.addressHash})
    on conflict on constraint sign_in_requests_identity do nothing
    returning id`;
}

export function findRequests({
  tenantId,
  status,
  after,
  limit,
}: CreatedPage & { tenantId: string; status: SignInRequestQuery['status'] }) {
  return sql<SignInRequestRow>`
    select * from (
      select ${columns} from sign_in_requests r join identity_providers p on p.id = r.identity_provider_id
      where r.tenant_id = ${tenantId} and (r.created_at, r.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
    ) as found
    where (${status ?? null}::text is null or status = ${status ?? null}::text)
    order by created_at, id
    limit ${limit + 1}`;
}

export function findRequest(tenantId: string, requestId: string) {
  return sql<SignInRequestRow>`
    select ${columns} from sign_in_requests r join identity_providers p on p.id = r.identity_provider_id
    where r.id = ${requestId} and r.tenant_id = ${tenantId}`;
}

/** Locks a request: decisions about it wait for each other. */
export function lockRequest(tenantId: string, requestId: string) {
  return sql<SignInRequestRow>`
    select ${columns} from sign_in_requests r join identity_providers p on p.id = r.identity_provider_id
    where r.id = ${requestId} and r.tenant_id = ${tenantId}
    for no key update of r`;
}

/**
 * The provider of a request, with a shared lock until the commit, so that the provider is disabled or moved either
 * before or after the decision.
 */
export function shareProvider(providerId: string) {
  return sql<Pick<StoredProvider, 'id' | 'key' | 'issuer' | 'status' | 'principal_kind'>>`
    select id, key, issuer, status, principal_kind from identity_providers where id = ${providerId} for share`;
}

export function updateDecision(decision: {
  id: string;
  status: 'admitted' | 'refused';
  reason: string;
  forSeconds: number;
}) {
  return sql`
    update sign_in_requests set status = ${decision.status}, decided_at = clock_timestamp(),
      decision_reason = ${decision.reason},
      expires_at = clock_timestamp() + make_interval(secs => ${decision.forSeconds})
    where id = ${decision.id}`;
}

/** Links an admitted person, who has not signed in yet. */
export function insertAdmittedLink(link: {
  id: string;
  tenantId: string;
  principalId: string;
  issuer: string;
  subject: string;
  providerId: string;
  externalId: string;
}) {
  return sql`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id,
      external_id)
    values (${link.id}, ${link.tenantId}, ${link.principalId}, ${link.issuer}, ${link.subject}, 'federated',
      ${link.providerId}, ${link.externalId})`;
}
