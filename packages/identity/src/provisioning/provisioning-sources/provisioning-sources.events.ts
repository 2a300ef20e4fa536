import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

export const SourceKind = z.enum(['scim', 'ldap']);

export const provisioningSourceRegistered = defineEvent(
  'provisioning_source.registered',
  'provisioning_source',
  z.strictObject({
    provisioningSourceId: Uuid,
    key: z.string(),
    kind: SourceKind,
    identityProviderId: Uuid,
  }),
);

const Named = z.strictObject({ provisioningSourceId: Uuid, key: z.string() });

export const provisioningSourceUpdated = defineEvent(
  'provisioning_source.updated',
  'provisioning_source',
  Named,
);

export const provisioningSourceDisabled = defineEvent(
  'provisioning_source.disabled',
  'provisioning_source',
  Named,
);

export const provisioningSourceEnabled = defineEvent(
  'provisioning_source.enabled',
  'provisioning_source',
  Named,
);

/** Emitted once for each stale period; the source's next write or heartbeat ends the period. */
export const provisioningSourceStale = defineEvent(
  'provisioning_source.stale',
  'provisioning_source',
  z.strictObject({
    provisioningSourceId: Uuid,
    key: z.string(),
    staleAfterSeconds: z.int(),
    lastSyncAt: Timestamp.nullable(),
  }),
);

/** Shares its type with the revocation of other credentials; the kind of aggregate distinguishes them. */
export const provisioningTokenRevoked = defineEvent(
  'credential.revoked',
  'provisioning_token',
  z.strictObject({ credentialId: Uuid, provisioningSourceId: Uuid, publicPrefix: z.string() }),
);
