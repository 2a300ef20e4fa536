import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditKey, readAuditKey } from '@baton/identity/records/audit-chain/audit-key';
import { type AdminPost, identityAdmin } from '../identity-admin.ts';
import { type ServiceProcess, startIdentityProcess, startOidcProviderProcess } from '../service-process.ts';

export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ExchangeFixture {
  readonly identity: ServiceProcess;
  readonly oidcProvider: ServiceProcess;
  /** The signing key of both services, in PEM. */
  readonly signingKey: string;
  /** Authenticates the audit rows, as identity does. */
  readonly auditKey: AuditKey;
  readonly databaseUrl: string;
  /** One personal access token per agent. */
  readonly tokens: readonly string[];
  /** The same number of service accounts in identity, which are also clients of oidc-provider. */
  readonly clients: readonly Client[];
}

export const audience = 'control-plane';
/** An audience whose tokens are signed by ES256. */
export const ellipticAudience = 'control-plane.es256';
export const scope = 'control-plane:read';
/** The same audience for oidc-provider, where it must be a URI. */
export const resource = 'urn:bench:control-plane';

/**
 * Starts identity on an empty database and creates `agents` tokens and service accounts through its API; then starts
 * oidc-provider with the same key and clients. `cleanup` stops both.
 */
export async function makeExchangeFixture(
  databaseUrl: string,
  agents: number,
  profileDirectory: string | undefined,
  cleanup: AsyncDisposableStack,
): Promise<ExchangeFixture> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const adminSecret = randomBytes(24).toString('base64url');
  const { auditKeyFile, ellipticKeyFile } = makeKeyFiles(cleanup);
  const settings = {
    IAM_DATABASE_URL: databaseUrl,
    IAM_CREATE_SCHEMA_ON_STARTUP: 'true',
    IAM_BOOTSTRAP_TOKEN: adminSecret,
    IAM_SIGNING_PRIVATE_KEY: signingKey,
    IAM_AUDIT_KEY_FILE: auditKeyFile,
    IAM_SIGNING_ES256_KEY_FILE: ellipticKeyFile,
  };
  const identity = await startIdentityProcess(settings, profileDirectory);
  cleanup.defer(() => identity.stop());
  const made = await makeCredentials(identityAdmin(identity.port, adminSecret), agents);
  const oidcProvider = await startOidcProviderProcess({
    SIGNING_KEY: signingKey,
    CLIENTS: JSON.stringify(made.clients),
    AUDIENCE: audience,
    SCOPE: scope,
  });
  cleanup.defer(() => oidcProvider.stop());
  const auditKey = await readAuditKey(auditKeyFile);
  return { identity, oidcProvider, signingKey, auditKey, databaseUrl, ...made };
}

/** The default run seals the audit log, so the benchmark does too. */
function makeKeyFiles(cleanup: AsyncDisposableStack) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-bench-key-'));
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const [auditKeyFile, ellipticKeyFile] = [join(folder, 'audit.key'), join(folder, 'es256.pem')];
  writeFileSync(auditKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(ellipticKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return { auditKeyFile, ellipticKeyFile };
}

async function makeCredentials(post: AdminPost, agents: number) {
  const tenant = `/tenants/${(await post('/tenants', { slug: 'bench', name: 'Bench' })).id}`;
  await post(`${tenant}/audiences`, { key: audience, allowedScopes: [scope] });
  const elliptic = { key: ellipticAudience, allowedScopes: [scope], signingAlgorithm: 'ES256' };
  await post(`${tenant}/audiences`, elliptic);
  const rights = { audiences: [audience, ellipticAudience], scopeCeiling: [scope] };
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
