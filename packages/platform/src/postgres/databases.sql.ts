import pg from 'pg';

/**
 * Creates a database and a role of the same name that owns it, unless they exist.
 * @param address of a database as superuser; @param name a lower-case word, as it is not quoted
 */
export async function ensureDatabase(address: string, name: string): Promise<void> {
  await withClient(address, async (client) => {
    const role = await client.query('select 1 from pg_roles where rolname = $1', [name]);
    if (role.rowCount === 0) await client.query(`create role ${name} login`);
    const database = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (database.rowCount === 0) await client.query(`create database ${name} owner ${name}`);
  });
}

/** The server's major version. */
export async function serverVersion(address: string): Promise<number> {
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ version: number }>(
      `select current_setting('server_version_num')::integer / 10000 as version`,
    );
    return rows[0]?.version ?? 0;
  });
}

async function withClient<T>(address: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: address,
    application_name: 'baton-start',
    connectionTimeoutMillis: 10_000,
  });
  // A connection lost between two statements fails the next one; the event without a listener would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
