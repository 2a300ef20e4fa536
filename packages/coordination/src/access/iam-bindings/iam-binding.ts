import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';

/** An identity of the identity service that enters as a principal, with these permissions (core, section 4.1). */
export const IamBinding = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  principalId: Uuid,
  issuer: z.string(),
  iamTenantId: Uuid,
  iamPrincipalId: Uuid,
  permissions: z.array(z.string()),
  status: z.enum(['active', 'disabled', 'revoked']),
  revokedAt: Timestamp.nullable(),
  lastUsedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type IamBinding = z.infer<typeof IamBinding>;

/** Which identity: the pair that is unique over the whole installation, and its tenant in the identity service. */
export interface Identity {
  issuer: string;
  iamTenantId: string;
  iamPrincipalId: string;
}

export interface IamBindingRow {
  id: string;
  tenant_id: string;
  principal_id: string;
  issuer: string;
  iam_tenant_id: string;
  iam_principal_id: string;
  permissions: string[];
  status: IamBinding['status'];
  revoked_at: string | null;
  last_used_at: string | null;
  created_at: string;
  updated_at: string;
}

export function iamBindingOf(row: IamBindingRow): IamBinding {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    principalId: row.principal_id,
    issuer: row.issuer,
    iamTenantId: row.iam_tenant_id,
    iamPrincipalId: row.iam_principal_id,
    permissions: row.permissions,
    status: row.status,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
