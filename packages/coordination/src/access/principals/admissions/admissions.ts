import { Refusal } from '@baton/kernel/http/refusal';
import { type Answer, type Surroundings } from '@baton/kernel/http/service';
import { kindOfSecret } from '@baton/values/secret-material';
import { emit } from '../../../ledger/journal/journal.ts';
import { nobody } from '../../../service/caller.ts';
import type { AdmissionClaims } from '../../access-tokens/tokens.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type GrantedAccess, resolveAccess } from '../../grants/granted-access.ts';
import { type IamBinding, type IamBindingRow, iamBindingOf } from '../../iam-bindings/iam-binding.ts';
import {
  bindNewIdentity,
  createIamBinding,
  findBindingOf,
  requireTrustedIssuer,
} from '../../iam-bindings/iam-bindings.ts';
import type { Principal } from '../principal.ts';
import { createPrincipal, getPrincipal, updatePrincipal } from '../principals.ts';
import type { Admission, AdmissionRequest } from './admission.ts';
import type { AdmissionRuleRow } from './admission-rule.ts';
import { principalSelfAdmitted } from './admissions.events.ts';
import { shareRule, takeIdentityLock } from './admissions.sql.ts';

/** An admission, and whether this command made it. */
interface Outcome {
  readonly admission: Admission;
  readonly isNew: boolean;
}

/**
 * Admits a person whom identity knows or is about to create: a principal, and the binding of the identity with an
 * access role, using the caller's own rights. Repeating the call changes nothing.
 * @throws Refusal `iam_issuer_untrusted`, `iam_identity_bound_elsewhere`, `already_admitted`, `invalid_display_name`,
 * `secret_material_rejected`, `not_found` {accessRole}, `permission_escalation`, `visibility_escalation`
 */
export async function admitPerson(
  context: Context,
  { displayName, email, accessRole, visibility, ...identity }: AdmissionRequest,
): Promise<Outcome> {
  requireTrustedIssuer(context, identity.issuer);
  await context.db.run(takeIdentityLock(identity));
  const known = await findBindingOf(context, identity);
  if (known !== undefined) return { admission: await repeat(context, known, accessRole), isNew: false };
  const principal = await createPerson(context, displayName, email);
  const { binding } = await createIamBinding(context, principal.id, { ...identity, accessRole, visibility });
  return { admission: { principal, binding }, isNew: true };
}

async function repeat(context: Context, known: IamBindingRow, ref: string): Promise<Admission> {
  if (known.tenant_id !== context.tenantId) fail('iam_identity_bound_elsewhere');
  const { accessRole } = await resolveAccess(context, 'human', { accessRole: ref });
  const principal = await getPrincipal(context, known.principal_id);
  const isSame = known.status === 'active' && known.access_role === accessRole;
  if (!isSame || principal.status !== 'active')
    fail('already_admitted', { principalId: principal.id, accessRole: known.access_role });
  return { principal, binding: iamBindingOf(known) };
}

async function createPerson(context: Context, displayName: string, email: string | null): Promise<Principal> {
  const principal = await createPrincipal(context, {
    kind: 'human',
    displayName,
    status: 'active',
    metadata: {},
  });
  if (email === null) return principal;
  const profile = { jobTitle: null, email, phone: null, note: null };
  return updatePrincipal(context, principal.id, principal.version, { profile });
}

/** Verifies the statement before the transaction, because keys may have to be fetched. */
export async function admitSelfAround(
  statement: string,
  { context, command }: Surroundings<AdmissionClaims, Context>,
): Promise<Answer> {
  return command((await context.verifyAdmission?.(statement)) ?? fail('invalid_credentials'));
}

/**
 * Admits the person named in a statement from identity, if an administrator of the tenant has allowed the provider to
 * admit people with that role. It admits an identity only once: somebody who lost their access stays out.
 * @throws Refusal `self_admission_refused`
 */
export async function admitSelf(context: Context, claims: AdmissionClaims): Promise<Outcome> {
  const rule = await context.db.row(shareRule(claims));
  if (rule === undefined) return fail('self_admission_refused', {}, { reason: 'no_rule' });
  // The rule determines the tenant of this request, which has no caller.
  Object.assign(context, { tenantId: rule.tenant_id, caller: { ...nobody, tenantId: rule.tenant_id } });
  const access = await accessOf(context, rule, claims.accessRole);
  await context.db.run(takeIdentityLock(claims));
  const known = await findBindingOf(context, claims);
  if (known !== undefined) return { admission: await readmit(context, known), isNew: false };
  const admission = await admitByRule(context, rule, claims, access);
  return { admission, isNew: true };
}

/** The role may have been changed, or deleted, since the rule was set. */
async function accessOf(context: Context, rule: AdmissionRuleRow, wanted: string): Promise<GrantedAccess> {
  const { access_role: accessRole } = rule;
  if (accessRole !== wanted) fail('self_admission_refused', {}, { reason: 'another_role' });
  const access = await resolveAccess(context, 'human', { accessRole }).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
    return fail('self_admission_refused', {}, { reason: 'role_deleted', cause: error });
  });
  if (access.permissions.includes('admin')) fail('self_admission_refused', {}, { reason: 'role_with_admin' });
  return access;
}

async function readmit(context: Context, known: IamBindingRow): Promise<Admission> {
  const refused = (reason: string) => fail('self_admission_refused', {}, { reason });
  if (known.tenant_id !== context.tenantId) return refused('bound_elsewhere');
  const principal = await getPrincipal(context, known.principal_id);
  if (known.status !== 'active' || principal.status !== 'active') return refused('lost_access');
  return { principal, binding: iamBindingOf(known) };
}

async function admitByRule(
  context: Context,
  rule: AdmissionRuleRow,
  claims: AdmissionClaims,
  access: GrantedAccess,
): Promise<Admission> {
  const { issuer, iamTenantId, iamPrincipalId, identityProvider } = claims;
  const email = claims.email !== null && kindOfSecret(claims.email) === undefined ? claims.email : null;
  const principal = await createPerson(context, claims.displayName, email);
  const identity = { issuer, iamTenantId, iamPrincipalId };
  const grant = { ...identity, ...access, principalId: principal.id, visibility: 'tenant' } as const;
  const binding = (await bindNewIdentity(context, grant)) as IamBinding;
  const accessRole = rule.access_role;
  const payload = { principalId: principal.id, ruleId: rule.id, iamTenantId, identityProvider, accessRole };
  emit(context, principalSelfAdmitted, { entityId: principal.id }, payload);
  return { principal, binding };
}
