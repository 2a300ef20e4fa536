import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

type Columns = RowOf<Tables['administration_tokens']>;

export type AdministrationTokenRow = Pick<
  Columns,
  'id' | 'tenant_id' | 'principal_id' | 'auth_time' | 'expires_at'
>;

/** A person's sign-in and, if no token may be issued for it, the reason. */
export interface SignInRow
  extends Pick<Columns, 'external_identity_id' | 'browser_session_id' | 'auth_time'> {
  refusal: string | null;
}

/** A presented token, with everything that its use depends on. */
export interface PresentedTokenRow
  extends Pick<Columns, 'id' | 'tenant_id' | 'principal_id' | 'secret_hash' | 'browser_session_id'> {
  refusal: string | null;
}

/** The maximum number of live tokens of a person in a tenant; another one replaces the oldest. */
export const tokensPerPersonMax = 10;

export const NewAdministrationToken = z
  .strictObject({
    principalId: Uuid.describe('The person.'),
    credentialId: Uuid.describe(
      "`credential_id` of the person's access token: their browser session, or their identity at a provider.",
    ),
  })
  .meta({ id: 'NewAdministrationToken' });
export type NewAdministrationToken = z.infer<typeof NewAdministrationToken>;

const AdministrationToken = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  principalId: Uuid,
  authTime: Timestamp.describe('When the person signed in.'),
  expiresAt: Timestamp,
});

export const IssuedAdministrationToken = z
  .strictObject({
    token: z.string().describe('The secret, `iam_adm_…`: in this response only.'),
    ...AdministrationToken.shape,
  })
  .meta({ id: 'IssuedAdministrationToken' });
export type IssuedAdministrationToken = z.infer<typeof IssuedAdministrationToken>;

export const administrationTokenOf = wireMapper<AdministrationTokenRow>()(AdministrationToken, {});
