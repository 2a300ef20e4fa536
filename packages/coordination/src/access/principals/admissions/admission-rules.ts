import { newId } from '@baton/values/ids';
import { emit } from '../../../ledger/journal/journal.ts';
import { viewerOf } from '../../../service/sight/sight.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { resolveAccess } from '../../grants/granted-access.ts';
import { getBindingRow } from '../../iam-bindings/iam-bindings.ts';
import { refuseEscalation } from '../../permission-list.ts';
import { type AdmissionRule, type AdmissionRuleRow, admissionRuleOf } from './admission-rule.ts';
import { admissionRuleRemoved, admissionRuleSet } from './admissions.events.ts';
import {
  countRules,
  countRulesOfRole,
  deleteRules,
  findRules,
  shareRule,
  takeRulesLock,
  upsertRule,
} from './admissions.sql.ts';

export const rulesMax = 50;

export async function listAdmissionRules({ db, tenantId }: Context): Promise<AdmissionRule[]> {
  return (await db.rows(findRules(tenantId))).map(admissionRuleOf);
}

/**
 * Allows a provider of the caller's tenant in identity to admit unknown people with a role (see
 * docs/reference/access.md#admissions). Nobody can allow permissions that they lack.
 * @throws Refusal `identity_token_required`, `not_found` {accessRole}, `permission_escalation`, `visibility_escalation`,
 * `admission_role_not_allowed`, `admission_rule_elsewhere`, `admission_rule_limit`
 */
export async function setAdmissionRule(
  context: Context,
  identityProvider: string,
  accessRole: string,
): Promise<{ rule: AdmissionRule; isNew: boolean }> {
  const { db, tenantId, caller } = context;
  const { iamPrincipalId, credentialId } = caller;
  if (iamPrincipalId === null || credentialId === undefined) return fail('identity_token_required');
  const { issuer, iam_tenant_id: iamTenantId } = await getBindingRow(context, credentialId);
  const access = await resolveAccess(context, 'human', { accessRole });
  refuseEscalation(caller.permissions, access.permissions);
  // People whom the provider admits see the whole tenant, so the caller must see it, too.
  if ((await viewerOf(context)) !== null) fail('visibility_escalation');
  if (access.permissions.includes('admin')) fail('admission_role_not_allowed', { accessRole });
  await db.run(takeRulesLock(tenantId));
  const provider = { issuer, iamTenantId, identityProvider };
  const known = await db.row(shareRule(provider));
  const role = access.accessRole as string;
  if (known?.tenant_id === tenantId && known.access_role === role)
    return { rule: admissionRuleOf(known), isNew: false };
  if (known === undefined && ((await db.row(countRules(tenantId)))?.count ?? 0) >= rulesMax)
    fail('admission_rule_limit', { max: rulesMax });
  const row = await db.row(upsertRule({ id: newId(), tenantId, ...provider, accessRole: role }));
  if (row === undefined) return fail('admission_rule_elsewhere');
  emit(context, admissionRuleSet, { entityId: row.id }, providerOf(row));
  return { rule: admissionRuleOf(row), isNew: known === undefined };
}

/** Removes the rules of a provider; if there are none, nothing changes. People whom they admitted keep their access. */
export async function removeAdmissionRule(context: Context, identityProvider: string): Promise<undefined> {
  for (const row of await context.db.rows(deleteRules(context.tenantId, identityProvider)))
    emit(context, admissionRuleRemoved, { entityId: row.id }, providerOf(row));
}

/** The number of rules that name a role. The caller must lock the role first. */
export async function countAdmissionRulesOfRole({ db, tenantId }: Context, key: string): Promise<number> {
  return (await db.row(countRulesOfRole(tenantId, key)))?.count ?? 0;
}

function providerOf(row: AdmissionRuleRow) {
  const { iam_tenant_id: iamTenantId, identity_provider: identityProvider, access_role: accessRole } = row;
  return { iamTenantId, identityProvider, accessRole };
}
