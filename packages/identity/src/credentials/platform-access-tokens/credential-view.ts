import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { CredentialKind } from '../../directory/revocation/credentials.events.ts';
import type { CredentialRow } from './platform-access-tokens.sql.ts';

const names = z.array(z.string());

/** A token as the wire shows it: everything but its secret. */
export const Credential = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  principalId: Uuid,
  name: z.string(),
  kind: CredentialKind,
  publicPrefix: z.string(),
  audiences: names,
  scopeCeiling: names,
  createdAt: Timestamp,
  expiresAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
  revokeReason: z.string().describe('Empty while the token is active.'),
  rotatedFromId: Uuid.nullable(),
});
export type Credential = z.infer<typeof Credential>;

export function credentialView(row: CredentialRow): Credential {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    principalId: row.principal_id,
    name: row.name,
    kind: row.kind,
    publicPrefix: row.public_prefix,
    audiences: row.audiences,
    scopeCeiling: row.scope_ceiling,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    revokeReason: row.revoke_reason,
    rotatedFromId: row.rotated_from_id,
  };
}

/** What the journal says of a token that was made. */
export function credentialPayload(row: CredentialRow) {
  return {
    credentialId: row.id,
    principalId: row.principal_id,
    publicPrefix: row.public_prefix,
    kind: row.kind,
    audiences: row.audiences,
  };
}
