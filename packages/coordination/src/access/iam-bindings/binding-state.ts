import { emit } from '../../ledger/journal/journal.ts';
import { CommandRefused, type OperatorTools } from '../operator-command.ts';
import { findTenantOfBinding, lockBinding, updateBindingStatus } from './binding-state.sql.ts';
import type { IamBinding } from './iam-binding.ts';
import { iamBindingUpdated } from './iam-bindings.events.ts';
import { boundIdentityOf, forgetIdentity } from './iam-bindings.ts';

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Disables or enables a binding: a status that only the operator sets, not the API. To reactivate a revoked binding,
 * bind the identity again. See docs/reference/access.md#bindings.
 * @returns whether anything changed
 * @throws CommandRefused `not_found`, `binding_revoked`
 */
export async function setBindingState(
  { pool, command }: OperatorTools,
  bindingId: string,
  state: 'active' | 'disabled',
): Promise<boolean> {
  const found = uuidForm.test(bindingId) ? await pool.row(findTenantOfBinding(bindingId)) : undefined;
  if (found === undefined) throw new CommandRefused('not_found', 'no binding has this id.');
  return command('binding', found.tenant_id, async (context) => {
    const binding = await context.db.row(lockBinding(context.tenantId, bindingId));
    const status: IamBinding['status'] | undefined = binding?.status;
    if (status === 'revoked') throw new CommandRefused('binding_revoked', 'bind the identity again instead.');
    if (status === state) return false;
    const row = await context.db.row(updateBindingStatus(context.tenantId, bindingId, state));
    if (row === undefined) throw new Error('a locked binding was not found');
    const traced = { ...context, requestId: `binding:${bindingId}` };
    emit(traced, iamBindingUpdated, { entityId: row.id }, boundIdentityOf(row));
    forgetIdentity(context, row);
    return true;
  });
}
