import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';
import { userUrn } from '../../scim/protocol/schemas.ts';
import { type Keycloak, startKeycloak } from './keycloak.ts';

/** The service with a fake directory, and sources that write to it. */
export interface UpstreamFixture {
  readonly identity: TestIdentity;
  readonly keycloak: Keycloak;
  /** A source in this mode with its credentials, or with another line in the file; undefined omits the credentials. */
  source(mode: string, changes?: object, lineOf?: (sourceId: string) => string | undefined): Promise<Source>;
  close(): Promise<void>;
}

export interface Source extends Provisioning {
  readonly client: ScimClient;
}

export async function startUpstreamFixture(settings: Record<string, string> = {}): Promise<UpstreamFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-upstream-'));
  const file = join(folder, 'credentials');
  await writeFile(file, '# no source yet\n');
  const identity = await startIdentity({
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
    IAM_UPSTREAM_CREDENTIALS_FILE: file,
    ...settings,
  });
  const keycloak = await startKeycloak();
  const lines: string[] = [];
  const usual = (id: string) => `${id} ${keycloak.address} ${keycloak.clientId}:${keycloak.clientSecret}`;
  return {
    identity,
    keycloak,
    async source(mode, changes = {}, lineOf = usual) {
      const fixture = await makeProvisioning(identity);
      const { address: upstreamBaseUrl, realm: upstreamRealm } = keycloak;
      const path = `/tenants/${fixture.tenantId}/provisioning-sources/${fixture.sourceId}`;
      await made(identity.patch(path, { upstreamMode: mode, upstreamBaseUrl, upstreamRealm, ...changes }));
      lines.push(lineOf(fixture.sourceId) ?? '');
      await writeFile(file, lines.join('\n'));
      await identity.service.reload();
      keycloak.requests.splice(0);
      return { ...fixture, client: scimClient(identity, fixture.token) };
    },
    async close() {
      await identity.close();
      await keycloak.close();
      await rm(folder, { recursive: true });
    },
  };
}

export function newUser(more: object = {}) {
  const name = randomUUID();
  return { schemas: [userUrn], userName: `${name}@example.com`, externalId: name, ...more };
}

export const setActive = (value: boolean) => [{ op: 'replace', path: 'active', value }];

export interface StoredUser {
  upstream_id: string | null;
  principal_id: string;
  subject: string;
  status: string;
}

/** The stored account and identity of a user. */
export function storedUser({ pool }: TestIdentity, userId: string): Promise<StoredUser | undefined> {
  return pool.row(sql`
    select u.upstream_id, u.principal_id, e.subject, e.status from scim_users u
    join external_identities e on e.id = u.external_identity_id where u.id = ${userId}`);
}
