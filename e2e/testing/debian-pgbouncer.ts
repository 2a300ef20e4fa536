import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { type DebianPostgres, makeFolder, processOptions, stopProcess } from './debian-postgres.ts';

const program = '/usr/sbin/pgbouncer';
const readyWaitMs = 30_000;

/** The reason why tests with PgBouncer can't run here; false if they can. */
export const withoutPgBouncer = existsSync(program)
  ? false
  : `${program} is missing: apt-get install pgbouncer`;

export interface PgBouncer {
  /** The address of a database through it, as a role. */
  url(database: string, role: string): string;
  /** Switches to another server; clients stay connected. */
  lead(to: DebianPostgres): void;
  stop(): Promise<void>;
}

/** @param settings lines for the section `[pgbouncer]` of its file */
export async function startPgBouncer(
  folder: string,
  to: DebianPostgres,
  settings: string,
): Promise<PgBouncer> {
  makeFolder(folder);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const write = (server: DebianPostgres) =>
    writeFileSync(
      file,
      `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
${settings}`,
    );
  writeFileSync(join(folder, 'users'), '"postgres" ""\n"baton" ""\n"bare" ""\n');
  write(to);
  const child = spawn(program, [file], { ...processOptions(folder), stdio: 'ignore' });
  const url = (database: string, role: string) => `postgresql://${role}@127.0.0.1:${port}/${database}`;
  await untilAnswered(url('postgres', 'postgres'), child).catch(async (error: unknown) => {
    await stopProcess(child, 'SIGQUIT');
    throw error;
  });
  return {
    url,
    lead(server) {
      write(server);
      child.kill('SIGHUP');
    },
    stop: () => stopProcess(child, 'SIGQUIT'),
  };
}

async function untilAnswered(url: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + readyWaitMs;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('select 1');
      return;
    } catch (cause) {
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error('PgBouncer did not start', { cause });
      await sleep(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
