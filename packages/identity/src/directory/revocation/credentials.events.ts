import { z } from 'zod';
import { defineEvent } from '@baton/kernel/service';
import { Uuid } from '@baton/kernel/wire';

export const CredentialKind = z.enum(['platform_access_token', 'legacy_control_plane_api_key']);

export const credentialRevoked = defineEvent(
  'credential.revoked',
  'platform_access_token',
  z.strictObject({
    credentialId: Uuid,
    principalId: Uuid,
    publicPrefix: z.string(),
    kind: CredentialKind,
    audiences: z.array(z.string()),
    reason: z.string(),
  }),
);
