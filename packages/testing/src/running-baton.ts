import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgramDatabase, type TestDatabase } from '@baton/kernel/testing/database';
import { type BatonClient, createClient } from '@baton/sdk';
import { type Connection, parseConnection } from '@baton/sdk/node';
import { type BatonProcess, repository, baton as runBaton } from './baton-process.ts';
import { endClaimLease } from './claim-lease.ts';
import { admit, agentPermissions, allScopes, type Participant } from './participant.ts';

export { agentPermissions, type Participant };

export interface RunningBaton {
  readonly url: string;
  readonly home: string;
  readonly connection: Connection;
  /** The settings that name its databases, for another start on them. */
  readonly databaseSettings: Readonly<Record<'IAM_DATABASE_URL' | 'CP_DATABASE_URL', string>>;
  readonly admin: BatonClient;
  readonly process: BatonProcess;
  /** Somebody with these permissions and a token. */
  participant(
    permissions?: readonly string[],
    kind?: 'agent' | 'human',
    scopes?: readonly string[],
  ): Promise<Participant>;
  /** Ends the lease on a task now, in the database: without the wait for its end. */
  endLease(taskId: string): Promise<void>;
  stop(): Promise<void>;
}

interface StartOptions {
  /** Gives it the built-in PostgreSQL, for tests that kill or stop that; every other one uses that of the test run. */
  readonly hasOwnPostgres?: boolean;
}

/**
 * Starts the whole of Baton in a temporary folder, or in the one that `settings` name. Its databases are copies in the
 * PostgreSQL of the test run: a start takes 2.5 s so, and 6 s with initdb, a PostgreSQL of its own and the migrations.
 */
export async function startRunningBaton(
  settings: Record<string, string> = {},
  { hasOwnPostgres = false }: StartOptions = {},
): Promise<RunningBaton> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-test-'));
  const home = settings['BATON_HOME'] ?? join(folder, 'home');
  const databases: TestDatabase[] = [];
  // The folder of an earlier start belongs to the databases of that start: `settings` name them.
  if (!hasOwnPostgres && settings['BATON_HOME'] === undefined)
    for (const service of ['identity', 'coordination'])
      databases.push(await createProgramDatabase(join(repository, 'packages', service, 'migrations')));
  const [identity, coordination] = databases;
  const running = runBaton(['start'], {
    BATON_HOME: home,
    PORT: '0',
    ...(identity && { IAM_DATABASE_URL: identity.url }),
    ...(coordination && { CP_DATABASE_URL: coordination.url }),
    ...settings,
  });
  const stop = async () => {
    running.child.kill('SIGTERM');
    await running.ended;
    for (const database of databases) await database.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  await running.prints(/Baton is ready at http:\S+/).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const file = join(home, 'connection.json');
  const text = readFileSync(file, 'utf8');
  const connection = parseConnection(text, file);
  const { iamDatabaseUrl, cpDatabaseUrl } = JSON.parse(text) as Record<string, string>;
  const { coordinationUrl: url, tenantId, issuer, iamBootstrapToken: adminSecret } = connection;
  const clientOf = (token: string) => createClient({ url, credential: { token }, adminSecret });
  const admin = clientOf(connection.adminToken);
  return {
    url,
    home,
    connection,
    databaseSettings: {
      IAM_DATABASE_URL: iamDatabaseUrl as string,
      CP_DATABASE_URL: cpDatabaseUrl as string,
    },
    admin,
    process: running,
    participant: (permissions = agentPermissions, kind = 'agent', scopes = allScopes) =>
      admit({ admin, tenantId, issuer }, clientOf, { permissions, kind, scopes }),
    endLease: (taskId) => endClaimLease(cpDatabaseUrl as string, taskId),
    stop,
  };
}

let shared: Promise<RunningBaton> | undefined;

/**
 * A Baton for all test files of this process, which stops when the process has nothing more to do; its `stop()` leaves it
 * to the others. A file that uses it makes participants and tasks of its own, expects those of others, and has no other
 * settings.
 */
export function sharedBaton(): Promise<RunningBaton> {
  shared ??= startShared();
  return shared;
}

async function startShared(): Promise<RunningBaton> {
  const baton = await startRunningBaton();
  const { child } = baton.process;
  // Else it would keep the process from its end.
  child.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as Socket | null)?.unref();
  process.once('beforeExit', () => {
    child.ref();
    void baton.stop();
  });
  // Where the process is ended otherwise.
  process.once('exit', () => child.kill('SIGTERM'));
  return { ...baton, stop: async () => undefined };
}
