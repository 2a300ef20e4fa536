import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** The entity of the event is the person. */
export const identityAdministrationGranted = defineEvent(
  'identity_administration.granted',
  'principal',
  z.strictObject({ tokenId: Uuid, expiresAt: Timestamp }),
);

/** The person lost the right to administer identities before the token expired. */
export const identityAdministrationRevoked = defineEvent(
  'identity_administration.revoked',
  'principal',
  z.strictObject({ tokenId: Uuid }),
);
