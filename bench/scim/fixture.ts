import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type AdminPost, identityAdmin } from '../identity-admin.ts';
import { type ServiceProcess, startIdentityProcess } from '../service-process.ts';
import { type Directory, type FilledGroup, fillGroup, fillUsers, vacuum } from './fill.ts';

/** A provisioning source with its users and its token. */
export interface FilledSource extends Directory {
  readonly users: number;
  readonly token: string;
  /** The id of one user. */
  readonly userId: string;
}

export interface ScimFixture {
  readonly service: ServiceProcess;
  readonly small: FilledSource;
  readonly large: FilledSource;
  /** Both groups are of the large source. */
  readonly smallGroup: FilledGroup;
  readonly largeGroup: FilledGroup;
}

export const smallUsers = 1000;
export const largeUsers = 100_000;
export const smallMembers = 10;
export const largeMembers = 50_000;

/** Starts identity on an empty database with a small and a large source, each in its own tenant. */
export async function makeScimFixture(
  databaseUrl: string,
  profileDirectory: string | undefined,
): Promise<ScimFixture> {
  const adminSecret = randomBytes(24).toString('base64url');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const settings = {
    IAM_DATABASE_URL: databaseUrl,
    IAM_CREATE_SCHEMA_ON_STARTUP: 'true',
    IAM_BOOTSTRAP_TOKEN: adminSecret,
    IAM_SIGNING_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    IAM_LOG_LEVEL: 'error',
  };
  const service = await startIdentityProcess(settings, profileDirectory);
  const post = identityAdmin(service.port, adminSecret);
  try {
    const fill = async (users: number): Promise<FilledSource> => {
      const { token, ...directory } = await makeSource(post, `bench-${users}`);
      return { ...directory, token, users, userId: await fillUsers(databaseUrl, directory, users) };
    };
    const [small, large] = [await fill(smallUsers), await fill(largeUsers)];
    const smallGroup = await fillGroup(databaseUrl, large, smallMembers);
    const largeGroup = await fillGroup(databaseUrl, large, largeMembers);
    await vacuum(databaseUrl);
    return { service, small, large, smallGroup, largeGroup };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

async function makeSource(post: AdminPost, key: string): Promise<Directory & { token: string }> {
  const tenantId = String((await post('/tenants', { slug: key, name: 'Bench' })).id);
  const tenant = `/tenants/${tenantId}`;
  await post(`${tenant}/audiences`, { key: 'iam-scim', allowedScopes: ['scim:write'] });
  const account = await post(`${tenant}/service-accounts`, {
    displayName: 'Bench',
    audiences: ['iam-scim'],
    scopeCeiling: ['scim:write'],
  });
  const provider = await post(`${tenant}/identity-providers`, {
    key,
    issuer: `https://${key}.example`,
    audience: 'baton',
    lifecycleProfile: 'managed',
  });
  const sources = `${tenant}/provisioning-sources`;
  const source = await post(sources, { key, identityProvider: key, servicePrincipalId: account.principalId });
  const { token } = await post(`${sources}/${source.id}/tokens`, { name: 'bench' });
  return {
    tenantId,
    sourceId: String(source.id),
    providerId: String(provider.id),
    token: String(token),
  };
}
