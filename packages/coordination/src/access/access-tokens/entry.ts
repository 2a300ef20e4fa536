import type { RowOf } from '@baton/kernel/database/row';
import type { Tables } from '../../service/schema.ts';

type BindingRow = RowOf<Tables['iam_bindings']>;
type PrincipalRow = RowOf<Tables['principals']>;

/** A binding and its principal's status: everything needed to admit a token. */
export type EntryRow = Pick<BindingRow, 'tenant_id' | 'principal_id' | 'iam_tenant_id' | 'permissions'> &
  Pick<PrincipalRow, 'kind' | 'agent_id'> & {
    binding_id: string;
    binding_status: BindingRow['status'];
    principal_status: PrincipalRow['status'];
  };
