import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, freeObjectOf, InstantInput, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { pathOfSecret, type SecretName } from '../../access/secret-store/secret-store.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { auths, ConnectionKey } from '../connection-types/type-spec.ts';

export const connectionStatuses = ['pending', 'active', 'expired', 'revoked'] as const;
export type ConnectionStatus = (typeof connectionStatuses)[number];

/** Why a callback failed. See docs/reference/connections.md#connections. */
export const callbackReasons = [
  'consent_denied',
  'provider_error',
  'invalid_account',
  'initiator_not_authorized',
  'oauth_exchange_failed',
  'oauth_app_not_configured',
  'auth_not_supported',
  'secret_store_unavailable',
] as const;
export type CallbackReason = (typeof callbackReasons)[number];

const displayName = z.string().min(1).max(200);
const settings = freeObjectOf(documentBytesMax).describe("Must match the type's settingsSchema; no secrets.");

export const ConnectionRequest = z
  .strictObject({
    type: ConnectionKey.describe('The key of its type; the newest active version is used.'),
    key: ConnectionKey.optional().describe("Defaults to the type's defaultKey, or to its key."),
    displayName: displayName.optional(),
    settings: settings.optional(),
  })
  .meta({ id: 'ConnectionRequest' });
export type ConnectionRequest = z.output<typeof ConnectionRequest>;

/** None of these fields may be null; a null is rejected with 400. */
export const ConnectionChange = z
  .strictObject({
    displayName: displayName.optional(),
    settings: settings.optional(),
    typeVersion: z.int().positive().max(999_999_999).optional(),
  })
  .meta({ id: 'ConnectionChange' });
export type ConnectionChange = z.output<typeof ConnectionChange>;

export const ConnectionToken = z
  .strictObject({
    account: z.string().min(1).max(253),
    token: z.string().min(1).max(8192).describe('Stored in the secret store; no operation returns it.'),
    expiresAt: InstantInput.optional(),
  })
  .meta({ id: 'ConnectionToken' });
export type ConnectionToken = z.output<typeof ConnectionToken>;

/** An agent's report on using a connection. */
export const ConnectionReport = z
  .strictObject({
    status: z.enum(['active', 'expired']),
    reason: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('Required for `expired`; a code, such as `token_rejected`.'),
    message: z.string().max(500).optional().describe('Suspected secrets in it are not stored.'),
    checkedAt: InstantInput.describe('A time in the future, by the clock of the service, is stored as now.'),
  })
  .meta({ id: 'ConnectionReport' });
export type ConnectionReport = z.output<typeof ConnectionReport>;

export const ConnectionRevocation = z
  .strictObject({ reason: z.string().min(1).max(500).optional() })
  .meta({ id: 'ConnectionRevocation' });

export const ConnectionAuthorization = z
  .strictObject({
    authorizeUrl: z
      .string()
      .nullable()
      .describe('Where to redirect the person; `null` in a replayed response.'),
    expiresAt: Timestamp,
  })
  .meta({ id: 'ConnectionAuthorization' });
export type ConnectionAuthorization = z.infer<typeof ConnectionAuthorization>;

/** Access to an account in another system. */
export const Connection = z
  .strictObject({
    id: Uuid,
    key: z.string(),
    type: z.string(),
    typeVersion: z.int().positive(),
    displayName: z.string(),
    account: z.string().nullable(),
    auth: z.enum(auths).nullable(),
    status: z.enum(connectionStatuses),
    statusReason: z.string().nullable(),
    statusMessage: z.string().nullable(),
    settings: FreeObject,
    secretRef: z
      .string()
      .nullable()
      .describe('Path of the credential in the secret store; in an external one, below `<mount>/data/`.'),
    expiresAt: Timestamp.nullable(),
    connectedBy: Uuid.nullable(),
    connectedAt: Timestamp.nullable(),
    lastCheckedAt: Timestamp.nullable(),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    version: z.int().positive(),
  })
  .meta({ id: 'Connection' });
export type Connection = z.infer<typeof Connection>;

/** A connection with its agents. */
export const UsedConnection = z
  .strictObject({
    ...Connection.shape,
    agents: z.array(z.string()).describe('The keys of the first 200 agents whose specs contain it.'),
  })
  .meta({ id: 'UsedConnection' });
export type UsedConnection = z.infer<typeof UsedConnection>;

export const OwnConnections = z.strictObject({ items: z.array(Connection) }).meta({ id: 'OwnConnections' });

export type ConnectionRow = RowOf<Tables['connections'], { settings: JsonObject }>;

export const connectionOf = wireMapper<ConnectionRow>()(Connection, {
  type: ({ type_key: type }) => type,
  secretRef(row) {
    const secret = secretOf(row);
    return secret === undefined ? null : pathOfSecret(secret);
  },
});

/** The connection's entry in the secret store; undefined if it has none. */
export function secretOf({
  tenant_id: tenantId,
  id,
  secret_name: name,
}: Pick<ConnectionRow, 'tenant_id' | 'id' | 'secret_name'>): SecretName | undefined {
  return name === null ? undefined : { tenantId, folder: folderOf(id), name };
}

/** The path of a connection's secrets. */
export function folderOf(connectionId: string): string {
  return `connections/${connectionId}`;
}
