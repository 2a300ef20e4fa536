import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The event contains no name or e-mail, which are personal. A request that expires has no event. */
const Requested = z.strictObject({ signInRequestId: Uuid, identityProvider: z.string() });

export const signInRequestCreated = defineEvent('sign_in_request.created', 'sign_in_request', Requested);

export const signInRequestAdmitted = defineEvent(
  'sign_in_request.admitted',
  'sign_in_request',
  Requested.extend({ principalId: Uuid, externalIdentityId: Uuid }),
);

export const signInRequestRefused = defineEvent(
  'sign_in_request.refused',
  'sign_in_request',
  Requested.extend({ forSeconds: z.int() }),
);
