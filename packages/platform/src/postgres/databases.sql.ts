import pg from 'pg';

/**
 * Creates a database and a role of the same name that owns it, unless they exist.
 * @param address the address of a database as superuser;
 * @param name lower case, because it is not quoted
 */
export async function ensureDatabase(address: string, name: string): Promise<void> {
  await withClient(address, async (client) => {
    // Uses no views, operators or conditions, because the cluster defines these, and they would run as superuser.
    const roles = await client.query<{ rolname: string }>('select rolname from pg_catalog.pg_authid');
    if (!roles.rows.some(({ rolname }) => rolname === name)) await client.query(`create role ${name} login`);
    const databases = await client.query<{ datname: string }>('select datname from pg_catalog.pg_database');
    if (!databases.rows.some(({ datname }) => datname === name))
      await client.query(`create database ${name} owner ${name}`);
  });
}

/** The server's major version. */
export async function serverVersion(address: string): Promise<number> {
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
    return Math.floor(Number(rows[0]?.server_version_num ?? 0) / 10_000);
  });
}

/** Whether the database of a service contains this tenant; false if it has no schema yet. */
export async function hasTenant(address: string, tenantId: string): Promise<boolean> {
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ found: boolean }>(
      "select to_regclass('tenants') is not null as found",
    );
    if (rows[0]?.found !== true) return false;
    const { rowCount } = await client.query('select 1 from tenants where id = $1', [tenantId]);
    return rowCount === 1;
  });
}

async function withClient<T>(address: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: address,
    application_name: 'baton-start',
    connectionTimeoutMillis: 10_000,
  });
  // A lost connection fails the next statement. Without a listener, the event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
