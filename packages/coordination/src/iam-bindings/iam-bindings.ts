import { newId } from '@baton/kernel/ids';
import type { Context } from '../context.ts';
import { emit } from '../journal/journal.ts';
import { type IamBinding, iamBindingOf, type IamBindingRow, type Identity } from './iam-binding.ts';
import { iamBindingCreated } from './iam-bindings.events.ts';
import { insertBinding } from './iam-bindings.sql.ts';

/**
 * Binds an identity that no tenant has bound; what may be granted was checked before.
 * @returns undefined when it is bound already
 */
export async function bindNewIdentity(
  context: Context,
  grant: Identity & { id?: string; principalId: string; permissions: readonly string[] },
): Promise<IamBinding | undefined> {
  const { db, tenantId } = context;
  const row = await db.row(insertBinding({ id: newId(), ...grant, tenantId }));
  if (row === undefined) return undefined;
  emit(context, iamBindingCreated, { entityId: row.id }, grantedBy(row));
  forgetIdentity(context, row);
  return iamBindingOf(row);
}

/** After the commit no process remembers what the identity was allowed before. */
export function forgetIdentity(
  context: Context,
  { issuer, iam_principal_id: iamPrincipalId }: Pick<IamBindingRow, 'issuer' | 'iam_principal_id'>,
): void {
  context.afterCommit.push(() => context.publishBindingChange(issuer, iamPrincipalId));
}

function grantedBy(row: IamBindingRow) {
  return {
    principalId: row.principal_id,
    issuer: row.issuer,
    iamTenantId: row.iam_tenant_id,
    iamPrincipalId: row.iam_principal_id,
    permissions: row.permissions,
  };
}
