import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminPost, identityAdmin } from '../identity-admin.ts';
import { type ServiceProcess, startIdentityProcess, startOidcProviderProcess } from '../service-process.ts';

export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ExchangeFixture {
  readonly identity: ServiceProcess;
  readonly oidcProvider: ServiceProcess;
  /** The signing key of both, in PEM. */
  readonly signingKey: string;
  /** One for each agent. */
  readonly tokens: readonly string[];
  /** Service accounts of identity, as many; oidc-provider knows the same. */
  readonly clients: readonly Client[];
}

export const audience = 'control-plane';
export const scope = 'control-plane:read';
/** What oidc-provider calls an audience has to be an address. */
export const resource = 'urn:bench:control-plane';

/**
 * Starts identity on an empty database and gives so many agents a token and a service account each, all by its
 * documented interface; then oidc-provider with the same key and clients. Whatever was started ends with `ends`.
 */
export async function makeExchangeFixture(
  databaseUrl: string,
  agents: number,
  profileDirectory: string | undefined,
  ends: AsyncDisposableStack,
): Promise<ExchangeFixture> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const adminSecret = randomBytes(24).toString('base64url');
  const settings = {
    IAM_DATABASE_URL: databaseUrl,
    IAM_CREATE_SCHEMA_ON_STARTUP: 'true',
    IAM_BOOTSTRAP_TOKEN: adminSecret,
    IAM_SIGNING_PRIVATE_KEY: signingKey,
    IAM_AUDIT_KEY_FILE: makeAuditKey(ends),
  };
  const identity = await startIdentityProcess(settings, profileDirectory);
  ends.defer(() => identity.stop());
  const { tokens, clients } = await makeCredentials(identityAdmin(identity.port, adminSecret), agents);
  const oidcProvider = await startOidcProviderProcess({
    SIGNING_KEY: signingKey,
    CLIENTS: JSON.stringify(clients),
    AUDIENCE: audience,
    SCOPE: scope,
  });
  ends.defer(() => oidcProvider.stop());
  return { identity, oidcProvider, signingKey, tokens, clients };
}

/** Baton seals its audit record by default, so what is measured seals it too. */
function makeAuditKey(ends: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'baton-bench-key-'));
  ends.defer(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'audit.key');
  writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return file;
}

async function makeCredentials(post: AdminPost, agents: number) {
  const tenant = `/tenants/${(await post('/tenants', { slug: 'bench', name: 'Bench' })).id}`;
  await post(`${tenant}/audiences`, { key: audience, allowedScopes: [scope] });
  const rights = { audiences: [audience], scopeCeiling: [scope] };
  const tokens: string[] = [];
  const clients: Client[] = [];
  for (let agent = 0; agent < agents; agent += 1) {
    const { id } = await post(`${tenant}/principals`, { kind: 'agent', displayName: 'bench agent' });
    const path = `${tenant}/principals/${id}/platform-access-tokens`;
    const { token = '' } = await post(path, { name: 'bench', ...rights });
    tokens.push(token);
    const account = await post(`${tenant}/service-accounts`, { displayName: 'bench service', ...rights });
    const { clientId = '', clientSecret = '' } = account;
    clients.push({ clientId, clientSecret });
  }
  return { tokens, clients };
}
