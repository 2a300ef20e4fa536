import { randomUUID } from 'node:crypto';
import { type Db, violatedConstraint } from '@baton/kernel/database/db';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { addPrincipal } from '../../directory/principals/principals.ts';
import { tenantExists } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type SignInRefusal,
  type SignInRequestQuery,
  type SignInRequestRow,
  signInRequestOf,
  signInRequestPages,
} from './sign-in-request.ts';
import { signInRequestAdmitted, signInRequestRefused } from './sign-in-requests.events.ts';
import {
  findRequest,
  findRequests,
  insertAdmittedLink,
  lockRequest,
  shareProvider,
  updateDecision,
} from './sign-in-requests.sql.ts';

interface Decision {
  readonly tenantId: string;
  readonly signInRequestId: string;
}

/** @throws Refusal `tenant_not_found` */
export async function listSignInRequests(db: Db, tenantId: string, query: SignInRequestQuery) {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const { status } = query;
  return signInRequestPages.read(
    query,
    (page) => db.rows(findRequests({ ...page, tenantId, status })),
    signInRequestOf,
  );
}

/** @throws Refusal `sign_in_request_not_found` */
export async function getSignInRequest(
  db: Db,
  { tenantId, signInRequestId }: Decision,
): Promise<SignInRequestRow> {
  return (await db.row(findRequest(tenantId, signInRequestId))) ?? fail('sign_in_request_not_found');
}

/**
 * Admits a person: their principal, with the id that the request reserved, and the link of their identity are stored in
 * one transaction. Repeating the call changes nothing.
 * @throws Refusal `sign_in_request_not_found`, `sign_in_request_decided`, `sign_in_request_expired`,
 * `sign_in_request_outdated`, `external_identity_conflict`
 */
export async function admitSignInRequest(context: Context, decision: Decision): Promise<SignInRequestRow> {
  const { db } = context;
  const { tenantId, signInRequestId } = decision;
  const row = (await db.row(lockRequest(tenantId, signInRequestId))) ?? fail('sign_in_request_not_found');
  if (row.status === 'admitted') return row;
  if (row.status === 'refused') fail('sign_in_request_decided');
  if (row.status === 'expired') fail('sign_in_request_expired');
  const provider = await db.row(shareProvider(row.identity_provider_id));
  const isSame = provider?.issuer === row.issuer && provider.status === 'active';
  if (!isSame || provider.principal_kind !== 'human') return fail('sign_in_request_outdated');
  await createAdmitted(context, row).catch((error: unknown) => {
    // The identity has been linked in the meantime, by hand or by an invitation.
    if (violatedConstraint(error) === undefined) throw error;
    return fail('external_identity_conflict', {}, { cause: error });
  });
  const keptSeconds = 0;
  await db.run(updateDecision({ id: row.id, status: 'admitted', reason: '', forSeconds: keptSeconds }));
  return getSignInRequest(db, decision);
}

async function createAdmitted(context: Context, row: SignInRequestRow): Promise<void> {
  const { tenant_id: tenantId, principal_id: principalId, identity_provider: identityProvider } = row;
  const person = { id: principalId, tenantId, kind: 'human', displayName: row.display_name } as const;
  await addPrincipal(context.db, person);
  const externalIdentityId = randomUUID();
  await context.db.run(
    insertAdmittedLink({
      id: externalIdentityId,
      tenantId,
      principalId,
      issuer: row.issuer,
      subject: row.subject,
      providerId: row.identity_provider_id,
      externalId: row.external_id,
    }),
  );
  const created = { principalId, kind: person.kind, identityProvider };
  emit(context, principalCreated, { tenantId, aggregateId: principalId }, created);
  const linked = { externalIdentityId, principalId, identityProvider };
  emit(context, externalIdentityLinked, { tenantId, aggregateId: externalIdentityId }, linked);
  const admitted = { signInRequestId: row.id, ...linked };
  emit(context, signInRequestAdmitted, { tenantId, aggregateId: row.id }, admitted);
  audit(context, {
    tenantId,
    action: 'sign_in_requests.admit',
    resource: ['sign_in_request', row.id],
    reason: `provider:${identityProvider} principal:${principalId}`,
  });
}

/**
 * Refuses a person, who then can't make another request for a while. An expired request can be refused, too. Repeating
 * the call changes nothing.
 * @throws Refusal `sign_in_request_not_found`, `sign_in_request_decided`
 */
export async function refuseSignInRequest(
  context: Context,
  decision: Decision,
  { reason, forSeconds }: SignInRefusal,
): Promise<SignInRequestRow> {
  const { db } = context;
  const { tenantId, signInRequestId } = decision;
  const row = (await db.row(lockRequest(tenantId, signInRequestId))) ?? fail('sign_in_request_not_found');
  if (row.status === 'refused') return row;
  if (row.status === 'admitted') fail('sign_in_request_decided');
  await db.run(updateDecision({ id: row.id, status: 'refused', reason, forSeconds }));
  const identityProvider = row.identity_provider;
  const payload = { signInRequestId: row.id, identityProvider, forSeconds };
  emit(context, signInRequestRefused, { tenantId, aggregateId: row.id }, payload);
  audit(context, {
    tenantId,
    action: 'sign_in_requests.refuse',
    resource: ['sign_in_request', row.id],
    reason: `provider:${identityProvider} seconds:${forSeconds} reason:${reason}`,
  });
  return getSignInRequest(db, decision);
}
