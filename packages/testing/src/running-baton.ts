import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BatonClient, createClient } from '@baton/sdk';
import { type Connection, parseConnection } from '@baton/sdk/node';
import { type BatonProcess, baton as runBaton } from './baton-process.ts';
import { admit, agentPermissions, allScopes, type Participant } from './participant.ts';

export { agentPermissions, type Participant };

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

/** Starts the whole of Baton in a temporary folder, or in the one that `settings` name. */
export async function startRunningBaton(settings: Record<string, string> = {}): Promise<RunningBaton> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-test-'));
  const home = settings['BATON_HOME'] ?? join(folder, 'home');
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
    participant: (permissions = agentPermissions, kind = 'agent', scopes = allScopes) =>
      admit({ admin, tenantId, issuer }, clientOf, { permissions, kind, scopes }),
    stop,
  };
}
