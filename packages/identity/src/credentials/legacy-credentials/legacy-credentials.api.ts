import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { PlatformAccessToken } from '../platform-access-tokens/platform-access-token.ts';
import { legacyCredentialImported } from '../platform-access-tokens/platform-access-tokens.events.ts';
import { LegacyCredentialImport } from './legacy-credential.ts';
import { importLegacyCredential } from './legacy-credentials.ts';

export const importCredential = endpoint({
  id: 'importLegacyCredential',
  method: 'POST',
  path: '/tenants/{tenantId}/legacy-credentials:import',
  summary: 'Import a key of the former control plane, to be exchanged for a transition period.',
  params: tenantParam,
  body: LegacyCredentialImport,
  returns: { 201: PlatformAccessToken },
  errors: [
    'invalid_credential_material',
    'compatibility_window_too_long',
    'tenant_not_found',
    'principal_not_found',
    'principal_not_active',
    'unknown_audience',
    'invalid_scope_ceiling',
    'credential_exists',
  ],
  emits: [legacyCredentialImported],
  example: {
    principalId: '0190b2c4-0000-4000-8000-000000000001',
    name: 'old build server',
    keyPrefix: '0123456789ab',
    keyHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    audience: 'control-plane',
    scopeCeiling: ['control-plane:read'],
    expiresInSeconds: 86_400,
  },
  handle: ({ params, body }, context) => importLegacyCredential(context, params.tenantId, body),
});

export const legacyCredentialsApi = [importCredential];
