import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { eventText } from '@baton/values/event-text';
import { dropSecret, keepNewSecret, putNewSecret } from '../../access/secret-store/leftovers.ts';
import type { SecretChange } from '../../access/secret-store/secret-store.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { getTypeRow } from '../connection-types/connection-types.ts';
import { isAccountOf } from '../connection-types/type-spec.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type Connection,
  type ConnectionRow,
  type ConnectionToken,
  connectionOf,
  folderOf,
  secretOf,
} from './connection.ts';
import { connectionAuthorized, connectionRevoked } from './connections.events.ts';
import { type NewCredential, updateToActive, updateToRevoked } from './connections.sql.ts';
import { getConnectionRow, lockConnectionRow } from './connections.ts';

/**
 * Writes a token to the store, then activates the connection with it. See docs/reference/connections.md#connections.
 * @throws Refusal `not_found`, `auth_not_supported`, `invalid_account`, `invalid_expiry`, `secret_store_unavailable`
 */
export async function putTokenAround(
  key: string,
  { account, token, expiresAt }: ConnectionToken,
  { context, command }: Surroundings<SecretChange, Context>,
): Promise<Answer> {
  const row = await getConnectionRow(context, key);
  const { spec } = await getTypeRow(context, { key: row.type_key, version: row.type_version });
  if (!spec.auth.includes('token')) fail('auth_not_supported', { type: row.type_key });
  if (!isAccountOf(spec, account)) fail('invalid_account');
  if (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()) fail('invalid_expiry');
  return command(await putCredential(context, row.id, { auth: 'token', account, token }));
}

/** @throws Refusal `not_found`, `secret_store_unavailable` */
export async function putToken(
  context: Context,
  key: string,
  { account, expiresAt }: ConnectionToken,
  change: SecretChange,
): Promise<Connection> {
  const row = await lockConnectionRow(context, key);
  const connectedBy = context.caller.principalId;
  return activateConnection(context, row, change, {
    auth: 'token',
    account,
    expiresAt: expiresAt ?? null,
    connectedBy,
  });
}

/** Writes a credential under a new, unused name. @throws Refusal `secret_store_unavailable` */
export function putCredential(
  context: Context,
  connectionId: string,
  credential: object,
): Promise<SecretChange> {
  return putNewSecret(
    context,
    { folder: folderOf(connectionId), kind: 'credential' },
    JSON.stringify(credential),
  );
}

/**
 * Activates the connection with a new credential, under the lock of the row.
 * @throws Refusal `secret_store_unavailable`
 */
export async function activateConnection(
  context: Context,
  row: ConnectionRow,
  change: SecretChange,
  made: Omit<NewCredential, 'secretName'>,
): Promise<Connection> {
  await keepNewSecret(context, change);
  const before = secretOf(row);
  if (before !== undefined) await dropSecret(context, before);
  const { db, tenantId } = context;
  const credential = { ...made, secretName: change.secret.name };
  const after = (await db.row(updateToActive(tenantId, row.id, credential))) as ConnectionRow;
  const { key, type_key: type, status: previousStatus } = row;
  const { auth, connectedBy } = made;
  emit(context, connectionAuthorized, { entityId: row.id }, { key, type, auth, previousStatus, connectedBy });
  return connectionOf(after);
}

/**
 * Deletes the credential from the store, then revokes the connection. Without a credential, the store isn't called.
 * @throws Refusal `not_found`, `secret_store_unavailable`
 */
export async function revokeAround(
  key: string,
  { context, command }: Surroundings<SecretChange | undefined, Context>,
): Promise<Answer> {
  const secret = secretOf(await getConnectionRow(context, key));
  return command(secret === undefined ? undefined : await context.secrets.delete(secret));
}

/** Voids the authorization in progress. Repeating the request changes nothing. @throws Refusal `not_found` */
export async function revokeConnection(
  context: Context,
  key: string,
  reason: string | undefined,
  deleted: SecretChange | undefined,
): Promise<Connection> {
  const { db, tenantId, secrets } = context;
  const before = await lockConnectionRow(context, key);
  if (before.status === 'revoked') return connectionOf(before);
  const secret = secretOf(before);
  if (deleted !== undefined && deleted.secret.name === secret?.name) await secrets.apply(db, deleted);
  // The connection has since been connected again: that new credential is deleted, too.
  else if (secret !== undefined) await dropSecret(context, secret);
  const message = reason === undefined ? null : eventText(reason);
  const row = (await db.row(updateToRevoked(tenantId, before.id, message))) as ConnectionRow;
  const { type_key: type, status: previousStatus } = before;
  emit(context, connectionRevoked, { entityId: row.id }, { key, type, previousStatus });
  return connectionOf(row);
}
