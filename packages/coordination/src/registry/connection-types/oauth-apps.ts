import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { dropSecret, keepNewSecret, putNewSecret } from '../../access/secret-store/leftovers.ts';
import type { SecretChange, SecretName } from '../../access/secret-store/secret-store.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type ConnectionTypeRow,
  type OauthApp,
  type OauthAppRequest,
  type OauthAppRow,
  oauthAppOf,
} from './connection-type.ts';
import { oauthAppSet } from './connection-types.events.ts';
import { findOauthApp, findType, insertOauthApp, updateOauthApp } from './connection-types.sql.ts';
import { getTypeRow } from './connection-types.ts';
import { secretAddressOf } from './type-spec.ts';

/**
 * An application's entry in the secret store: both values are written together, so that concurrent writes can't mix
 * them.
 */
const AppSecret = z.object({ clientId: z.string(), clientSecret: z.string(), proofKey: z.string() });
/**
 * `proofKey` derives the proofs of RFC 7636, so that they needn't be stored.
 */
export type AppSecret = z.infer<typeof AppSecret>;

/** The new entry in the store, and the entry that it replaces. */
export interface PutApp {
  readonly change: SecretChange;
  /** The version of the type that the person saw: a version published since then must not receive the secret. */
  readonly typeVersion: number;
  readonly before: OauthAppRow | undefined;
}

/**
 * Writes the secret of an application to the store, then records it. See
 * docs/reference/connections.md#secret-addresses.
 * @throws Refusal `not_found`, `auth_not_supported`, `secret_store_unavailable`
 */
export async function putAppAround(
  key: string,
  { clientId, clientSecret, typeVersion }: OauthAppRequest,
  { context, command }: Surroundings<PutApp, Context>,
): Promise<Answer> {
  const { spec, version } = await getTypeRow(context, { key, version: typeVersion ?? null });
  if (!spec.auth.includes('oauth2')) fail('auth_not_supported', { type: key });
  const before = await context.db.row(findOauthApp(context.tenantId, key));
  const secret: AppSecret = { clientId, clientSecret, proofKey: randomBytes(32).toString('base64url') };
  const kind = { folder: folderOf(key), kind: 'app' };
  const change = await putNewSecret(context, kind, JSON.stringify(secret));
  return command({ change, typeVersion: version, before });
}

/** @throws Refusal `not_found`, `secret_store_unavailable`, `oauth_app_write_conflict` */
export async function putApp(
  context: Context,
  key: string,
  clientId: string,
  { change, typeVersion, before }: PutApp,
): Promise<OauthApp> {
  const { db, tenantId } = context;
  const { id } = await getTypeRow(context, { key, version: null });
  await keepNewSecret(context, change);
  const { name: secretName } = change.secret;
  const versionBefore = before?.version ?? 0;
  const made = { tenantId, typeKey: key, clientId, secretName, typeVersion, versionBefore };
  const row = await db.row(before === undefined ? insertOauthApp(made) : updateOauthApp(made));
  if (row === undefined) return fail('oauth_app_write_conflict', { type: key });
  if (before !== undefined) await dropSecret(context, secretOf(before));
  emit(context, oauthAppSet, { entityId: id }, { type: key, created: before === undefined });
  return oauthAppOf(key, row);
}

/** @throws Refusal `not_found` */
export async function getApp(context: Context, key: string): Promise<OauthApp> {
  await getTypeRow(context, { key, version: null });
  return oauthAppOf(key, await context.db.row(findOauthApp(context.tenantId, key)));
}

/**
 * Reads the application's secret from the store; called outside any transaction.
 * @param type the version to whose token address the secret will be sent
 * @param secretName the secret's name at an earlier time; the current one if absent
 * @returns undefined if none is set, or if it has been replaced in the meantime
 * @throws Refusal `secret_address_changed`, `secret_store_unavailable`
 */
export async function readAppSecret(
  context: Context,
  type: ConnectionTypeRow,
  secretName?: string,
): Promise<{ app: AppSecret; secretName: string } | undefined> {
  const { db, tenantId, secrets } = context;
  const row = await db.row(findOauthApp(tenantId, type.key));
  if (row === undefined || (secretName !== undefined && row.secret_name !== secretName)) return undefined;
  await requireSameAddress(context, row, type);
  const text = await secrets.get(db, secretOf(row));
  if (text === undefined) return undefined;
  return { app: AppSecret.parse(JSON.parse(text)), secretName: row.secret_name };
}

/** @throws Refusal `secret_address_changed` unless the secret was entered for the token address of this version */
async function requireSameAddress(
  { db, tenantId }: Context,
  { type_version: version }: OauthAppRow,
  type: ConnectionTypeRow,
): Promise<void> {
  const then = version === null ? undefined : await db.row(findType(tenantId, { key: type.key, version }));
  const [enteredFor = null, address = null] = [then, type].map((one) => addressOf(one));
  if (address === null || enteredFor !== address)
    fail('secret_address_changed', { type: type.key, version: type.version, enteredFor, address });
}

function addressOf(type: ConnectionTypeRow | undefined): string | undefined {
  const { oauth2, accountField } = type?.spec ?? { oauth2: null, accountField: null };
  return oauth2 === null ? undefined : secretAddressOf(oauth2, accountField?.pattern ?? null);
}

function secretOf({ tenant_id: tenantId, type_key: key, secret_name: name }: OauthAppRow): SecretName {
  return { tenantId, folder: folderOf(key), name };
}

function folderOf(typeKey: string): string {
  return `connection-types/${typeKey}`;
}
