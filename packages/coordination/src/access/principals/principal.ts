import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';

export const principalKinds = ['human', 'agent', 'service'] as const;
export const principalStatuses = ['active', 'paused', 'disabled'] as const;

export const Profile = z.strictObject({
  jobTitle: z.string().nullable(),
  email: z.string().nullable(),
  phone: z.string().nullable(),
  note: z.string().nullable(),
});
export type Profile = z.infer<typeof Profile>;

/** Somebody or something that acts inside a tenant (core, section 4.1). */
export const Principal = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  kind: z.enum(principalKinds),
  displayName: z.string(),
  status: z.enum(principalStatuses),
  metadata: FreeObject,
  profile: Profile,
  version: z.int().positive(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type Principal = z.infer<typeof Principal>;

export interface PrincipalRow {
  id: string;
  tenant_id: string;
  kind: Principal['kind'];
  display_name: string;
  status: Principal['status'];
  metadata: JsonObject;
  profile: Partial<Profile>;
  version: number;
  created_at: string;
  updated_at: string;
}

export function principalOf(row: PrincipalRow): Principal {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    kind: row.kind,
    displayName: row.display_name,
    status: row.status,
    metadata: row.metadata,
    profile: { jobTitle: null, email: null, phone: null, note: null, ...row.profile },
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
