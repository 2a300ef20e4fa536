import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startCluster } from '@baton/platform/postgres/cluster';
import { ensureDatabase } from '@baton/platform/postgres/databases.sql';

/** An empty database, dropped by `close`. */
export interface Store {
  readonly url: string;
  /** The server's version string and its fsync setting. */
  readonly version: string;
  /** Does the server's background work on the inserted rows now instead of during the measurement. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

const name = 'baton_bench';

/**
 * Starts the built-in PostgreSQL in a temporary folder, with durable commits; or creates a database on the server at
 * `address`.
 */
export async function openStore(address: string | undefined): Promise<Store> {
  return address === undefined ? await startBuiltInServer() : await createDatabase(address);
}

async function startBuiltInServer(): Promise<Store> {
  const home = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  const directory = join(home, 'baton', 'postgres');
  mkdirSync(join(home, 'baton'));
  const cluster = await startCluster({ directory, durable: true, say: console.error });
  await ensureDatabase(cluster.url('postgres'), name);
  const url = cluster.url(name, name);
  return {
    url,
    version: await versionOf(url),
    settle: () => settle(cluster.url(name)),
    async close() {
      await cluster.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function createDatabase(address: string): Promise<Store> {
  const database = `${name}_${process.pid}`;
  await query(address, `create database ${database}`);
  const url = new URL(address);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    version: await versionOf(url.href),
    settle: () => settle(url.href),
    close: async () => void (await query(address, `drop database ${database} with (force)`)),
  };
}

async function versionOf(url: string): Promise<string> {
  const rows = await query(
    url,
    `select split_part(version(), ' on ', 1) || ', fsync ' || current_setting('fsync') as version`,
  );
  return String(rows[0]?.version);
}

/** @param url of a role with access to the whole server */
async function settle(url: string): Promise<void> {
  await query(url, 'vacuum (analyze)');
  await query(url, 'checkpoint');
}

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'baton-bench' });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
