import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { BenchError } from '../bench-error.ts';
import { type ServiceProcess, startIdentityProcess } from '../service-process.ts';

export interface ExchangeFixture {
  readonly service: ServiceProcess;
  /** The signing key of the service, in PEM. */
  readonly signingKey: string;
  /** One for each agent. */
  readonly tokens: readonly string[];
}

export const audience = 'control-plane';
const scope = 'control-plane:read';

/** Starts identity on an empty database, and gives so many agents a token each, all by its documented interface. */
export async function makeExchangeFixture(
  databaseUrl: string,
  agents: number,
  profileDirectory: string | undefined,
): Promise<ExchangeFixture> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const adminSecret = randomBytes(24).toString('base64url');
  const settings = {
    IAM_DATABASE_URL: databaseUrl,
    IAM_CREATE_SCHEMA_ON_STARTUP: 'true',
    IAM_BOOTSTRAP_TOKEN: adminSecret,
    IAM_SIGNING_PRIVATE_KEY: signingKey,
  };
  const service = await startIdentityProcess(settings, profileDirectory);
  try {
    return { service, signingKey, tokens: await makeTokens(service.port, adminSecret, agents) };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

async function makeTokens(port: number, adminSecret: string, agents: number): Promise<string[]> {
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method: 'POST',
      headers: {
        'x-iam-bootstrap-token': adminSecret,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new BenchError(`${path} was answered with ${answer.status}.`);
    return (await answer.json()) as Record<string, string>;
  };
  const tenant = `/tenants/${(await post('/tenants', { slug: 'bench', name: 'Bench' })).id}`;
  await post(`${tenant}/audiences`, { key: audience, allowedScopes: [scope] });
  const tokens: string[] = [];
  for (let agent = 0; agent < agents; agent += 1) {
    const { id } = await post(`${tenant}/principals`, { kind: 'agent', displayName: 'bench agent' });
    const wanted = { name: 'bench', audiences: [audience], scopeCeiling: [scope] };
    const { token } = await post(`${tenant}/principals/${id}/platform-access-tokens`, wanted);
    tokens.push(token as string);
  }
  return tokens;
}
