import pg from 'pg';

/**
 * Makes a database and a role of the same name that owns it, unless they are there.
 * @param address of the superuser's database
 * @param name a plain lower-case word
 */
export async function ensureDatabase(address: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: address, application_name: 'baton-start' });
  await client.connect();
  try {
    await makeUnlessThere(
      client,
      'select 1 from pg_roles where rolname = $1',
      name,
      `create role ${name} login`,
    );
    await makeUnlessThere(
      client,
      'select 1 from pg_database where datname = $1',
      name,
      `create database ${name} owner ${name}`,
    );
  } finally {
    await client.end();
  }
}

async function makeUnlessThere(client: pg.Client, look: string, name: string, make: string): Promise<void> {
  const { rowCount } = await client.query(look, [name]);
  if (rowCount === 0) await client.query(make);
}
