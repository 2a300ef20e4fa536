import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { PrincipalRow } from '../../directory/principals/principal.ts';
import type { PresentedRow } from '../../issuing/exchange/credential.ts';
import { audienceLengthMax, characters, NameSet, Reason } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';

type SessionColumns = RowOf<Tables['browser_sessions']>;

export type BrowserSessionRow = Pick<
  SessionColumns,
  | 'id'
  | 'tenant_id'
  | 'principal_id'
  | 'passkey_id'
  | 'client_id'
  | 'public_prefix'
  | 'acr'
  | 'auth_time'
  | 'created_at'
  | 'expires_at'
  | 'last_used_at'
> & { amr: string[]; idle_expires_at: string };

/** A presented session, and its audience if one is requested. */
export interface PresentedSessionRow
  extends PresentedRow,
    Pick<SessionColumns, 'client_id' | 'acr' | 'auth_time' | 'public_prefix'> {
  principal_kind: PrincipalRow['kind'];
  display_name: PrincipalRow['display_name'];
  allowed_scopes: string[] | null;
  signing_algorithm: SigningAlgorithm | null;
  is_use_due: boolean;
  /** How long ago the person signed in. */
  auth_age_seconds: number;
  /**
   * Whether a passkey or the provider proves the time of the sign-in. Otherwise it is the time at which the token was
   * presented.
   */
  is_time_proven: boolean;
  now_seconds: number;
}

/** A session in which a person decides about an OAuth client, and the sign-in with which it began. */
export interface DecidingSessionRow
  extends Pick<
      PresentedSessionRow,
      'tenant_id' | 'principal_id' | 'refusal' | 'is_time_proven' | 'auth_age_seconds'
    >,
    Pick<SessionColumns, 'authentication_context_id' | 'auth_time'>,
    Pick<RowOf<Tables['authentication_contexts']>, 'acr' | 'amr'> {
  auth_issuer: string;
}

/** The client id of the console in access tokens. */
export const consoleClientId = 'baton-console';

export const sessionsPerPersonMax = 20;

export const SessionToken = z
  .string()
  .min(1)
  .max(500)
  .describe('The secret of a browser session: `iam_ses_…`.');

/** A session without its secret. */
export const BrowserSession = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    principalId: Uuid,
    passkeyId: Uuid.nullable().describe(
      'The passkey that began it; null after a sign-in through a provider.',
    ),
    clientId: z.string(),
    publicPrefix: z.string(),
    acr: z.string().nullable(),
    amr: z.array(z.string()),
    authTime: Timestamp,
    createdAt: Timestamp,
    lastUsedAt: Timestamp,
    expiresAt: Timestamp.describe('It ends then, however often it is used.'),
    idleExpiresAt: Timestamp.describe('It ends then unless it is used before.'),
  })
  .meta({ id: 'BrowserSession' });
export type BrowserSession = z.infer<typeof BrowserSession>;

export const browserSessionOf = wireMapper<BrowserSessionRow>()(BrowserSession, {});

export const BrowserSessionList = z
  .strictObject({ items: z.array(BrowserSession) })
  .meta({ id: 'BrowserSessionList' });

/** The sessions of the person whose session is presented. */
export const OwnBrowserSessionList = z
  .strictObject({
    items: z.array(BrowserSession),
    currentId: Uuid.describe('The session that was presented.'),
  })
  .meta({ id: 'OwnBrowserSessionList' });
export type OwnBrowserSessionList = z.infer<typeof OwnBrowserSessionList>;

/** A session that has just begun, together with its secret. */
export const StartedSession = z
  .strictObject({
    token: z.string().describe('The secret: in this response only.'),
    session: BrowserSession,
    displayName: z.string(),
  })
  .meta({ id: 'StartedBrowserSession' });
export type StartedSession = z.infer<typeof StartedSession>;

export const SessionExchangeRequest = z
  .strictObject({
    token: SessionToken,
    audience: characters(1, audienceLengthMax),
    scopes: NameSet.default([]).describe('Empty: all that the audience allows, without the privileged ones.'),
  })
  .meta({ id: 'BrowserSessionExchangeRequest' });
export type SessionExchangeRequest = z.infer<typeof SessionExchangeRequest>;

export const SessionEnd = z
  .strictObject({ token: SessionToken, reason: Reason.default('logout') })
  .meta({ id: 'BrowserSessionEnd' });

export const SessionRequest = z.strictObject({ token: SessionToken }).meta({ id: 'BrowserSessionRequest' });

export const OwnSessionEnd = z
  .strictObject({ token: SessionToken, browserSessionId: Uuid, reason: Reason.default('revoked') })
  .meta({ id: 'OwnBrowserSessionEnd' });
export type OwnSessionEnd = z.infer<typeof OwnSessionEnd>;

export const OtherSessionsEnd = z
  .strictObject({
    token: SessionToken,
    reason: Reason.default('revoked'),
    withThis: z
      .boolean()
      .default(false)
      .describe('End the presented session, too. This requires no recent sign-in.'),
  })
  .meta({ id: 'OtherBrowserSessionsEnd' });
export type OtherSessionsEnd = z.infer<typeof OtherSessionsEnd>;
