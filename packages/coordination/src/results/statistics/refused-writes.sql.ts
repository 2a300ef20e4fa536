import { sql } from '@baton/kernel/database/sql';

/** Refused writes of one claim or run. */
export interface RefusedWriteCount {
  readonly tenantId: string;
  readonly principalId: string;
  /** The claim or the run that the write presented. */
  readonly claimId: string | null;
  readonly runId: string | null;
  readonly count: number;
  /** The time since the first of them. */
  readonly ageSeconds: number;
}

/**
 * Adds counts of refused writes. A claim or run that doesn't exist, or that belongs to another principal, isn't
 * counted. The rows are locked in the order of their key, because several processes add to the same ones.
 */
export function insertRefusedWrites(counts: readonly RefusedWriteCount[]) {
  return sql`
    insert into refused_writes (tenant_id, at, principal_id, workspace_id, count)
    select t.tenant_id, date_bin('15 minutes', now() - make_interval(secs => given.age_seconds), 'epoch') as at,
      given.principal_id, t.workspace_id, sum(given.count)
    from unnest(${counts.map(({ tenantId }) => tenantId)}::uuid[], ${counts.map(({ principalId }) => principalId)}::uuid[],
        ${counts.map(({ claimId }) => claimId)}::uuid[], ${counts.map(({ runId }) => runId)}::uuid[],
        ${counts.map(({ count }) => count)}::bigint[], ${counts.map(({ ageSeconds }) => ageSeconds)}::double precision[])
      as given (tenant_id, principal_id, claim_id, run_id, count, age_seconds)
    cross join lateral (
      select c.task_id from claims c
      where c.id = given.claim_id and c.tenant_id = given.tenant_id and c.holder_id = given.principal_id
      union all
      select r.task_id from runs r
      where r.id = given.run_id and r.tenant_id = given.tenant_id and r.principal_id = given.principal_id
    ) as held
    join tasks t on t.id = held.task_id
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (tenant_id, at, principal_id, workspace_id) do update set count = refused_writes.count + excluded.count`;
}

export function deleteRefusedWrites(ageDays: number, rowsMax: number) {
  return sql`
    delete from refused_writes where ctid in (
      select ctid from refused_writes where at < now() - make_interval(days => ${ageDays}) order by at limit ${rowsMax}
      for update skip locked)`;
}
