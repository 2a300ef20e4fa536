import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const Named = z.strictObject({ identityProviderId: Uuid, key: z.string() });
const Profiled = Named.extend({ lifecycleProfile: z.enum(['read_only', 'managed']) });

export const identityProviderRegistered = defineEvent(
  'identity_provider.registered',
  'identity_provider',
  Profiled,
);

export const identityProviderUpdated = defineEvent(
  'identity_provider.updated',
  'identity_provider',
  Profiled,
);

export const identityProviderDisabled = defineEvent('identity_provider.disabled', 'identity_provider', Named);

export const identityProviderEnabled = defineEvent('identity_provider.enabled', 'identity_provider', Named);
