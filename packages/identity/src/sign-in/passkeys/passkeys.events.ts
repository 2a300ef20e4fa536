import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const passkey = { passkeyId: Uuid, principalId: Uuid };

export const passkeyRegistered = defineEvent(
  'passkey.registered',
  'passkey',
  z.strictObject({ ...passkey, externalIdentityId: Uuid }),
);

export const passkeyUpdated = defineEvent('passkey.updated', 'passkey', z.strictObject(passkey));

/** The sessions that began with the passkey have ended, each with its own event. */
export const passkeyRemoved = defineEvent(
  'passkey.removed',
  'passkey',
  z.strictObject({ ...passkey, reason: z.string() }),
);
