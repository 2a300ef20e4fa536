import { randomBytes, randomUUID } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Db } from '@baton/kernel/database/db';
import { refuseClosedTenant, tenantExists } from '../../../directory/tenants/tenants.ts';
import { audit } from '../../../records/audit.ts';
import { emit } from '../../../records/journal/journal.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type NewOauthClient, type OauthClient, oauthClientOf } from './oauth-client.ts';
import { oauthClientDeleted, oauthClientRegistered } from './oauth-clients.events.ts';
import {
  deleteClient,
  findClientByClientId,
  findClients,
  insertClient,
  lockTenantForClients,
} from './oauth-clients.sql.ts';

/** The clients that an administrator can register in one tenant. */
export const clientsPerTenantMax = 100;

/**
 * Registers a client of one tenant (see docs/reference/oauth.md#clients).
 * @throws Refusal `tenant_not_found`, `too_many_oauth_clients`
 */
export async function registerOauthClient(
  context: Context,
  tenantId: string,
  wanted: NewOauthClient,
): Promise<OauthClient> {
  const { db } = context;
  await refuseClosedTenant(db, tenantId);
  await db.run(lockTenantForClients(tenantId));
  if ((await db.rows(findClients(tenantId))).length >= clientsPerTenantMax) fail('too_many_oauth_clients');
  const clientId = `iam_oc_${randomBytes(18).toString('base64url')}`;
  const row = await db.row(insertClient({ id: randomUUID(), tenantId, clientId, ...wanted }));
  const made = oauthClientOf(row as NonNullable<typeof row>);
  emit(
    context,
    oauthClientRegistered,
    { tenantId, aggregateId: made.id },
    { oauthClientId: made.id, clientId },
  );
  record(context, made, 'oauth_clients.create');
  return made;
}

/** @throws Refusal `tenant_not_found` */
export async function listOauthClients(db: Db, tenantId: string): Promise<{ items: OauthClient[] }> {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  return { items: (await db.rows(findClients(tenantId))).map(oauthClientOf) };
}

/**
 * Deletes a client. It can no longer request or refresh access; its access tokens expire within minutes.
 * @throws Refusal `oauth_client_not_found`
 */
export async function deleteOauthClient(
  context: Context,
  tenantId: string,
  oauthClientId: string,
): Promise<undefined> {
  const row = await context.db.row(deleteClient(tenantId, oauthClientId));
  if (row === undefined) return fail('oauth_client_not_found');
  const gone = oauthClientOf(row);
  const about = { tenantId, aggregateId: gone.id };
  emit(context, oauthClientDeleted, about, { oauthClientId: gone.id, clientId: gone.clientId });
  record(context, gone, 'oauth_clients.delete');
}

/** The metadata of a registered client in the form that the provider library reads; undefined for any other id. */
export async function findRegisteredClient(db: Db, clientId: string): Promise<AdapterPayload | undefined> {
  if (!/^iam_oc_[\w-]{24}$/.test(clientId)) return undefined;
  const row = await db.row(findClientByClientId(clientId));
  if (row === undefined) return undefined;
  const isNative = row.redirect_uris.some((uri) => !uri.startsWith('https:'));
  return {
    client_id: row.client_id,
    client_name: row.name,
    application_type: isNative ? 'native' : 'web',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
    redirect_uris: row.redirect_uris,
  };
}

/** The tenant of a registered client; undefined for clients that belong to no tenant. */
export async function tenantOfClient(db: Db, clientId: string): Promise<string | undefined> {
  return (await db.row(findClientByClientId(clientId)))?.tenant_id;
}

function record(
  context: Context,
  { id, tenantId, clientId }: OauthClient,
  action: 'oauth_clients.create' | 'oauth_clients.delete',
): void {
  audit(context, { tenantId, action, resource: ['oauth_client', id], reason: `client:${clientId}` });
}
