import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, QueryFlag, Timestamp, Uuid } from '@baton/values/wire';
import { Name } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';
import { SessionToken } from '../browser-sessions/browser-session.ts';
import { stateLengthMax } from './challenges.ts';

export type PasskeyRow = Pick<
  RowOf<Tables['passkeys']>,
  'id' | 'principal_id' | 'name' | 'is_synced' | 'is_backed_up' | 'created_at' | 'last_used_at'
>;

export const Passkey = z
  .strictObject({
    id: Uuid,
    principalId: Uuid,
    name: z.string(),
    isSynced: z.boolean().describe('The device may copy it to other devices of the person.'),
    isBackedUp: z.boolean().describe('It was copied or backed up when it was last used.'),
    createdAt: Timestamp,
    lastUsedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Passkey' });
export type Passkey = z.infer<typeof Passkey>;

export const passkeyOf = wireMapper<PasskeyRow>()(Passkey, {});

export const PasskeyList = z.strictObject({ items: z.array(Passkey) }).meta({ id: 'PasskeyList' });

export const PasskeyChange = z.strictObject({ name: Name }).meta({ id: 'PasskeyChange' });

/** Base64url, as a browser writes bytes in JSON. */
function bytes(lengthMax: number) {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .regex(/^[A-Za-z0-9_-]*$/, 'must be base64url');
}

const transportsMax = 10;
const credentialIdLengthMax = 1364;
const credential = {
  id: bytes(credentialIdLengthMax),
  rawId: bytes(credentialIdLengthMax),
  type: z.literal('public-key'),
};

/** The fields of WebAuthn's `RegistrationResponseJSON` that are used; a browser may send more. */
export const NewCredential = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(4000),
      attestationObject: bytes(6000),
      transports: z.array(z.string().max(50)).max(transportsMax).optional(),
    }),
  })
  .meta({ id: 'NewPasskeyCredential' });
export type NewCredential = z.infer<typeof NewCredential>;

/** The fields of WebAuthn's `AuthenticationResponseJSON` that are used. */
export const UsedCredential = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(4000),
      authenticatorData: bytes(2000),
      signature: bytes(2000),
      userHandle: bytes(100).nullish(),
    }),
  })
  .meta({ id: 'UsedPasskeyCredential' });
export type UsedCredential = z.infer<typeof UsedCredential>;

export const PasskeyState = z
  .string()
  .min(1)
  .max(stateLengthMax)
  .describe('The `state` of the options that the browser got.');

/** The options for the browser, with the state that must be sent with the response. */
export const PasskeyOptions = z
  .strictObject({
    publicKey: FreeObject.describe(
      'The options of WebAuthn as JSON, for `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`.',
    ),
    state: z.string(),
  })
  .meta({ id: 'PasskeyOptions' });
export type PasskeyOptions = z.infer<typeof PasskeyOptions>;

export const PasskeySignInRequest = z
  .strictObject({ state: PasskeyState, credential: UsedCredential })
  .meta({ id: 'PasskeySignInRequest' });
export type PasskeySignInRequest = z.infer<typeof PasskeySignInRequest>;

/** A passkey that a browser has just created. */
export const CreatedPasskey = z
  .strictObject({ state: PasskeyState, credential: NewCredential, name: Name })
  .meta({ id: 'CreatedPasskey' });
export type CreatedPasskey = z.infer<typeof CreatedPasskey>;

export const OwnRegistration = z
  .strictObject({ token: SessionToken, ...CreatedPasskey.shape })
  .meta({ id: 'OwnPasskeyRegistration' });

export const OwnPasskeyRequest = z
  .strictObject({ token: SessionToken, passkeyId: Uuid })
  .meta({ id: 'OwnPasskeyRequest' });

export const OwnPasskeyChange = z
  .strictObject({ ...OwnPasskeyRequest.shape, name: Name })
  .meta({ id: 'OwnPasskeyChange' });

export const removalQuery = {
  withLast: QueryFlag.default(false).describe(
    'Remove it although it is the only way of the person to sign in, for instance because it was stolen.',
  ),
};
