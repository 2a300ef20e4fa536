import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const account = { serviceAccountId: Uuid, principalId: Uuid };
const names = z.array(z.string());

export const serviceAccountCreated = defineEvent(
  'service_account.created',
  'service_account',
  z.strictObject({ ...account, audiences: names }),
);

export const serviceAccountUpdated = defineEvent(
  'service_account.updated',
  'service_account',
  z.strictObject({ ...account, audiences: names, scopeCeiling: names }),
);

export const serviceAccountSecretRotated = defineEvent(
  'service_account.secret_rotated',
  'service_account',
  z.strictObject(account),
);

/** Shares its type with the revocation of a token; the kind of aggregate distinguishes them. */
export const serviceAccountRevoked = defineEvent(
  'credential.revoked',
  'service_account',
  z.strictObject(account),
);
