import pg from 'pg';

/** Runs a statement for which no endpoint exists: it inserts thousands of rows, or moves a timestamp into the past. */
export async function runStatement(databaseUrl: string, text: string, values: unknown[]): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-test' });
  await client.connect();
  try {
    await client.query(text, values);
  } finally {
    await client.end();
  }
}

/** Expires the lease of a task's claim now. The shortest lease, 10 s, is too short for a slow browser to show it. */
export const endLease = (databaseUrl: string, taskId: string): Promise<void> =>
  runStatement(
    databaseUrl,
    `with task as (
       update tasks set lease_expires_at = now() where id = $1 returning active_claim_id, lease_expires_at
     )
     update claims set expires_at = lease_expires_at, sweep_at = lease_expires_at from task where claims.id = active_claim_id`,
    [taskId],
  );

/** Copies the tenant's only task until it has `total` tasks. The API would take over a minute to create 10,000. */
export async function seedTasks(databaseUrl: string, tenantId: string, total: number): Promise<void> {
  await runStatement(
    databaseUrl,
    `insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin,
       created_by, created_at)
     select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, 'Task ' || n, status, category,
       priority, origin, created_by, created_at + n * interval '1 millisecond'
     from (select * from tasks where tenant_id = $2 order by created_at desc limit 1) as one,
       generate_series(2, $1::integer) as n`,
    [total, tenantId],
  );
  await runStatement(databaseUrl, 'analyze tasks', []);
}
