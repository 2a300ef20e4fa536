import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BatonClient, createClient } from '@baton/sdk';
import { type Connection, parseConnection } from '@baton/sdk/node';
import { type BatonProcess, baton as runBaton } from './baton-process.ts';

/** What an agent that works needs. */
export const agentPermissions = [
  'sessions.open',
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'artifacts.read',
  'artifacts.write',
  'approvals.read',
  'approvals.manage',
  'events.read',
] as const;

export interface Participant {
  readonly token: string;
  readonly principalId: string;
  readonly baton: BatonClient;
}

export interface RunningBaton {
  readonly url: string;
  readonly home: string;
  readonly connection: Connection;
  readonly admin: BatonClient;
  readonly process: BatonProcess;
  /** Somebody with these permissions and a token. */
  participant(
    permissions?: readonly string[],
    kind?: 'agent' | 'human',
    scopes?: readonly string[],
  ): Promise<Participant>;
  stop(): Promise<void>;
}

const audiences = ['control-plane'];
const allScopes = ['control-plane:read', 'control-plane:write'];

/** Starts the whole of Baton in a temporary folder. */
export async function startRunningBaton(settings: Record<string, string> = {}): Promise<RunningBaton> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-test-'));
  const home = join(folder, 'home');
  const running = runBaton(['start'], { BATON_HOME: home, PORT: '0', ...settings });
  const stop = async () => {
    running.child.kill('SIGTERM');
    await running.ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  await running.prints(/Baton is ready at http:\S+/).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const file = join(home, 'connection.json');
  const connection = parseConnection(readFileSync(file, 'utf8'), file);
  const { coordinationUrl: url, tenantId, issuer, iamBootstrapToken: adminSecret } = connection;
  const clientOf = (token: string) => createClient({ url, credential: { token }, adminSecret });
  const admin = clientOf(connection.adminToken);
  return {
    url,
    home,
    connection,
    admin,
    process: running,
    async participant(permissions = agentPermissions, kind = 'agent', scopes = allScopes) {
      const made = await admin.identity.principals.create(tenantId, { kind, displayName: 'a test' });
      if (kind === 'human')
        await admin.identity.principals.recordAuthenticationContext(tenantId, made.id, { issuer });
      const { token } = await admin.identity.principals.createToken(tenantId, made.id, {
        name: 'test',
        audiences,
        scopeCeiling: [...scopes],
        expiresInSeconds: 3600,
      });
      if (token === null) throw new Error('the answer of a new token holds no token');
      const { id: principalId } = await admin.principals.create({ kind, displayName: 'a test' });
      const identity = { issuer, iamTenantId: tenantId, iamPrincipalId: made.id };
      await admin.principals.createIamBinding(principalId, { ...identity, permissions: [...permissions] });
      return { token, principalId, baton: clientOf(token) };
    },
    stop,
  };
}
