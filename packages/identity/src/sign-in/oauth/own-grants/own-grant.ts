import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Reason } from '../../../service/fields.ts';
import type { Tables } from '../../../service/schema.ts';
import { SessionToken } from '../../browser-sessions/browser-session.ts';

export type OwnGrantRow = Pick<
  RowOf<Tables['platform_access_tokens']>,
  'id' | 'name' | 'scope_ceiling' | 'created_at' | 'last_used_at' | 'expires_at'
> &
  Pick<RowOf<Tables['oauth_grants']>, 'client_id'> & {
    agent_id: string | null;
    agent_name: string | null;
  };

/** What a person has granted to an OAuth client. */
export const OwnGrant = z
  .strictObject({
    id: Uuid.describe('The `credential_id` of its access tokens.'),
    name: z.string().describe('The name of the client when access was granted.'),
    clientId: z.string(),
    agentId: Uuid.nullable().describe('The agent as which the client acts; null if it acts as the person.'),
    agentName: z.string().nullable(),
    scopeCeiling: z.array(z.string()),
    createdAt: Timestamp,
    lastUsedAt: Timestamp.nullable(),
    expiresAt: Timestamp,
  })
  .meta({ id: 'OwnOauthGrant' });
export type OwnGrant = z.infer<typeof OwnGrant>;

export const ownGrantOf = wireMapper<OwnGrantRow>()(OwnGrant, {});

export const OwnGrantList = z.strictObject({ items: z.array(OwnGrant) }).meta({ id: 'OwnOauthGrantList' });
export type OwnGrantList = z.infer<typeof OwnGrantList>;

export const OwnGrantsRequest = z.strictObject({ token: SessionToken }).meta({ id: 'OwnOauthGrantsRequest' });

export const OwnGrantEnd = z
  .strictObject({ token: SessionToken, grantId: Uuid, reason: Reason.default('revoked') })
  .meta({ id: 'OwnOauthGrantEnd' });
export type OwnGrantEnd = z.infer<typeof OwnGrantEnd>;
