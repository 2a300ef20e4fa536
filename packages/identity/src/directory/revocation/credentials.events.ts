import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const CredentialKind = z.enum([
  'platform_access_token',
  'legacy_control_plane_api_key',
  'oauth_grant',
]);

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
