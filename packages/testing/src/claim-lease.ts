import pg from 'pg';

/** Expires the lease of a task's claim in coordination's database. It locks the rows in the service's order. */
export async function endClaimLease(databaseUrl: string, taskId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-test' });
  await client.connect();
  try {
    await client.query('begin');
    // A separate statement, so that the next one sees a claim that was committed while this one waited for the lock.
    await client.query('select id from tasks where id = $1 for no key update', [taskId]);
    const { rowCount } = await client.query(
      `with task as (
         update tasks set lease_expires_at = now() - interval '1 second'
         where id = $1 and active_claim_id is not null
         returning active_claim_id, lease_expires_at
       )
       update claims set expires_at = task.lease_expires_at, sweep_at = task.lease_expires_at
       from task where claims.id = task.active_claim_id`,
      [taskId],
    );
    await client.query('commit');
    if (rowCount !== 1) throw new Error(`nobody has a lease on the task ${taskId}`);
  } finally {
    await client.end();
  }
}
