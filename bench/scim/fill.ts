import pg from 'pg';

/** Fills a provisioning source by SQL, in one transaction instead of 100,000 SCIM requests. */

export interface Directory {
  readonly tenantId: string;
  readonly sourceId: string;
  readonly providerId: string;
}

/** A group and a user who is not a member. */
export interface FilledGroup {
  readonly id: string;
  readonly outsiderId: string;
}

const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/**
 * Inserts users with the attributes that a directory would send, created one second apart. The n-th is
 * `person<n>@example.com`; one in fifty is inactive.
 * @returns the id of one of them
 */
export async function fillUsers(databaseUrl: string, directory: Directory, users: number): Promise<string> {
  return inTransaction(databaseUrl, async (run) => {
    const { tenantId, sourceId, providerId } = directory;
    // Twice as fast as updating the indexes with every row.
    const indexes = await run(
      `select indexname as name, indexdef as definition from pg_indexes
      where tablename = 'scim_users' and indexdef not like 'CREATE UNIQUE%'`,
    );
    for (const { name } of indexes) await run(`drop index ${name}`);
    await run(`create temp table people on commit drop as
      select n, gen_random_uuid() as id from generate_series(1, ${users}) n`);
    await run(
      `insert into principals (id, kind, display_name) select id, 'human', 'Person ' || n from people`,
    );
    await run(`insert into memberships (tenant_id, principal_id) select $1, id from people`, [tenantId]);
    await run(
      `insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id,
        external_id)
      select people.id, $1, people.id, p.issuer, 'urn:iam:scim:bench:E' || n, 'provisioned', p.id, 'E' || n
      from people, identity_providers p where p.id = $2`,
      [tenantId, providerId],
    );
    await run(
      `insert into scim_users (id, provisioning_source_id, tenant_id, principal_id, external_identity_id, user_name,
        external_id, display_name, active, document, created_at, modified_at)
      select id, $1, $2, id, id, 'person' || n || '@example.com', 'E' || n, 'Person ' || n, n % 50 <> 0,
        jsonb_build_object(
          'title', 'Title ' || n % 100,
          'name', jsonb_build_object('familyName', 'Family' || n, 'givenName', 'Given' || n % 1000),
          'emails', jsonb_build_array(
            jsonb_build_object('value', 'person' || n || '@example.com', 'type', 'work', 'primary', true),
            jsonb_build_object('value', 'person' || n || '@home.example', 'type', 'home')),
          'phoneNumbers', jsonb_build_array(jsonb_build_object('value', '+44 ' || n, 'type', 'work')),
          '${enterpriseUrn}', jsonb_build_object('department', 'Department ' || n % 20,
            'employeeNumber', n::text, 'manager', jsonb_build_object('value', 'M' || n / 10))),
        now() - make_interval(secs => 2 * ${users} - n), now() - make_interval(secs => ${users} - n)
      from people order by n`,
      [sourceId, tenantId],
    );
    for (const { definition } of indexes) await run(String(definition));
    const [last] = await run('select id from people order by n desc limit 1');
    return String(last?.id);
  });
}

/** Inserts a group with the first `members` users of the source. */
export async function fillGroup(
  databaseUrl: string,
  { tenantId, sourceId }: Directory,
  members: number,
): Promise<FilledGroup> {
  return inTransaction(databaseUrl, async (run) => {
    const [group] = await run(
      `with projected as (
        insert into groups (id, tenant_id, key, name, source)
        values (gen_random_uuid(), $1, 'of-${members}', 'Of ${members}', 'scim') returning id, name
      )
      insert into scim_groups (id, provisioning_source_id, tenant_id, group_id, display_name)
      select gen_random_uuid(), $2, $1, id, name from projected returning id, group_id`,
      [tenantId, sourceId],
    );
    await run(
      `insert into group_members (id, tenant_id, group_id, principal_id, source)
      select gen_random_uuid(), $1, $2, principal_id, 'scim'
      from scim_users where provisioning_source_id = $3 order by created_at limit ${members}`,
      [tenantId, group?.group_id, sourceId],
    );
    const [outsider] = await run(
      `select id from scim_users where provisioning_source_id = $1 order by created_at desc limit 1`,
      [sourceId],
    );
    return { id: String(group?.id), outsiderId: String(outsider?.id) };
  });
}

/** Collects planner statistics and sets the visibility map now, as autovacuum would within minutes. */
export async function vacuum(databaseUrl: string): Promise<void> {
  await connected(databaseUrl, (client) => client.query('vacuum analyze'));
}

type Run = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

function inTransaction<T>(databaseUrl: string, work: (run: Run) => Promise<T>): Promise<T> {
  return connected(databaseUrl, async (client) => {
    await client.query('begin');
    const result = await work(
      async (text, values = []) => (await client.query<Record<string, unknown>>(text, values)).rows,
    );
    await client.query('commit');
    return result;
  });
}

async function connected<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'baton-bench',
    // As in the service: otherwise foreign key checks that were planned on empty tables scan them sequentially.
    options: '-c enable_seqscan=off',
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
