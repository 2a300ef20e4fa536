import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { addPrincipal, lockMember, pauseNew } from '../../directory/principals/principals.ts';
import { revokeInvitations } from '../../directory/revocation/invitations.ts';
import { tenantExists } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { makeLongSecret } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type InvitationQuery,
  type InvitationRow,
  type IssuedInvitation,
  invitationOf,
  invitationPages,
  type NewInvitation,
  type NewRecoveryLink,
} from './invitation.ts';
import { invitationCreated } from './invitations.events.ts';
import {
  countOpenInvitations,
  findInvitation,
  findInvitations,
  findUnacceptedPerson,
  insertInvitation,
  lockTenantForInvitations,
} from './invitations.sql.ts';

/** The person of a link, and whether accepting it makes them active. */
interface Invited {
  readonly principalId: string;
  readonly activates: boolean;
}

type LinkOrder = Pick<NewInvitation, 'invitedBy' | 'message' | 'expiresInSeconds'> & {
  readonly tenantId: string;
  readonly kind: InvitationRow['kind'];
  readonly email: string | null;
  readonly role: string | null;
  readonly replaces: boolean;
};

/**
 * Invites a person: a new one, who is paused until they accept, or one of the tenant (see
 * docs/reference/invitations.md#invite). Their earlier links are revoked.
 * @throws Refusal `tenant_not_found`, `principal_not_found`, `principal_not_active`, `human_principal_required`,
 * `too_many_invitations`
 */
export async function createInvitation(
  context: Context,
  tenantId: string,
  { displayName, principalId, email, role, ...link }: NewInvitation,
): Promise<IssuedInvitation> {
  await refuseClosed(context.db, tenantId);
  const order = {
    tenantId,
    kind: 'invitation',
    email: email ?? null,
    role: role ?? null,
    replaces: false,
  } as const;
  if (principalId != null)
    return addLink(context, await requireInvitable(context, tenantId, principalId), { ...link, ...order });
  await refuseMany(context, tenantId);
  return addLink(context, await addInvited(context, tenantId, displayName as string), { ...link, ...order });
}

/**
 * Makes a link with which a person adds a passkey without signing in.
 * @throws Refusal `tenant_not_found`, `principal_not_found`, `principal_not_active`, `human_principal_required`,
 * `too_many_invitations`
 */
export async function createRecoveryLink(
  context: Context,
  tenantId: string,
  principalId: string,
  { replaceCredentials: replaces, ...link }: NewRecoveryLink,
): Promise<IssuedInvitation> {
  await refuseClosed(context.db, tenantId);
  const invited = await requireInvitable(context, tenantId, principalId);
  return addLink(context, invited, {
    ...link,
    tenantId,
    kind: 'recovery',
    email: null,
    role: null,
    replaces,
  });
}

/**
 * Locks the tenant against other new links. @throws Refusal `tenant_not_found` for a tenant that is missing or not
 * active
 */
async function refuseClosed(db: Db, tenantId: string): Promise<void> {
  const tenant = await db.row(lockTenantForInvitations(tenantId));
  if (tenant?.status !== 'active') fail('tenant_not_found');
}

async function refuseMany({ db, settings }: Context, tenantId: string): Promise<void> {
  const open = await db.row(countOpenInvitations(tenantId));
  if ((open?.count ?? 0) >= settings.IAM_INVITATIONS_OPEN_MAX) fail('too_many_invitations');
}

async function addInvited(context: Context, tenantId: string, displayName: string): Promise<Invited> {
  const kind = 'human';
  const added = await addPrincipal(context.db, { tenantId, kind, displayName });
  const principalId = (added as NonNullable<typeof added>).id;
  await pauseNew(context.db, principalId);
  emit(context, principalCreated, { tenantId, aggregateId: principalId }, { principalId, kind });
  audit(context, { tenantId, action: 'principals.create', resource: ['principal', principalId] });
  return { principalId, activates: true };
}

/** A person of the tenant who may have a link: active, or paused since an invitation that nobody has accepted. */
async function requireInvitable(context: Context, tenantId: string, principalId: string): Promise<Invited> {
  const { db } = context;
  const person = (await lockMember(db, tenantId, principalId)) ?? fail('principal_not_found');
  const activates =
    person.status === 'paused' &&
    (await db.row(findUnacceptedPerson(tenantId, principalId)))?.is_unaccepted === true;
  if (person.status !== 'active' && !activates) fail('principal_not_active');
  if (person.kind !== 'human') fail('human_principal_required');
  await revokeInvitations(context, { tenantId, principalId, reason: 'replaced' });
  await refuseMany(context, tenantId);
  return { principalId, activates };
}

async function addLink(context: Context, invited: Invited, order: LinkOrder): Promise<IssuedInvitation> {
  const { tenantId, kind, role, expiresInSeconds } = order;
  const { principalId } = invited;
  const { token, ...secret } = makeLongSecret('inv');
  const row = await context.db.row(insertInvitation({ id: randomUUID(), ...order, ...invited, ...secret }));
  const invitation = invitationOf(row as NonNullable<typeof row>);
  const about = { tenantId, aggregateId: invitation.id };
  const payload = { invitationId: invitation.id, principalId, kind, role, expiresInSeconds };
  emit(context, invitationCreated, about, payload);
  audit(context, {
    tenantId,
    action: 'invitations.create',
    resource: ['invitation', invitation.id],
    reason: `${kind}:${invitation.publicPrefix} principal:${principalId}${order.replaces ? ' replaces' : ''}`,
  });
  return { invitation, token };
}

/** @throws Refusal `tenant_not_found` */
export async function listInvitations(db: Db, tenantId: string, query: InvitationQuery) {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const { principalId, status } = query;
  return invitationPages.read(
    query,
    (page) => db.rows(findInvitations({ ...page, tenantId, principalId, status })),
    invitationOf,
  );
}

/** @throws Refusal `invitation_not_found` */
export async function getInvitation(db: Db, tenantId: string, invitationId: string): Promise<InvitationRow> {
  return (await db.row(findInvitation(tenantId, invitationId))) ?? fail('invitation_not_found');
}

/**
 * Revokes a link; repeating the call changes nothing and keeps the first reason.
 * @throws Refusal `invitation_not_found`, `invitation_accepted`
 */
export async function revokeInvitation(
  context: Context,
  { tenantId, invitationId, reason }: { tenantId: string; invitationId: string; reason: string },
): Promise<undefined> {
  if ((await revokeInvitations(context, { tenantId, invitationId, reason })) > 0) return;
  const { accepted_at } = await getInvitation(context.db, tenantId, invitationId);
  if (accepted_at !== null) fail('invitation_accepted');
}
