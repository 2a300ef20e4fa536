import { join } from 'node:path';
import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { startIssuer } from '@baton/coordination/testing/issuer';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { migrate } from '@baton/kernel/database/migrate';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { BenchError } from '../bench-error.ts';

/** An agent with an open session and a valid token. */
export interface Claimant {
  readonly principalId: string;
  readonly iamPrincipalId: string;
  readonly sessionId: string;
  readonly token: string;
}

export interface ClaimFixture {
  readonly tenantId: string;
  readonly claimants: readonly Claimant[];
  /** An unclaimed task. @throws BenchError if none is left */
  nextTaskId(): string;
  /** Coordination's settings for the database and the tokens. */
  readonly settings: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export const migrations = join(import.meta.dirname, '../../packages/coordination/migrations');
export const tokenSeconds = 3600;
const tasksPerInsert = 20_000;

/** Fills an empty database with a tenant, `agents` with sessions and tokens, and `tasks` to claim, each with events. */
export async function makeClaimFixture(
  databaseUrl: string,
  agents: number,
  tasks: number,
  eventsPerTask = 0,
): Promise<ClaimFixture> {
  await migrate(databaseUrl, migrations);
  const issuer = await startIssuer();
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: 1,
    applicationName: 'baton-bench',
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 60_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  try {
    const { tenantId, adminPrincipalId } = await foundTenant(pool, {
      tenantSlug: 'bench',
      tenantName: 'Bench',
      adminDisplayName: 'Bench',
    });
    const claimants: Claimant[] = [];
    for (let index = 0; index < agents; index += 1) {
      const claimant = await insertClaimant(pool, tenantId, issuer.issuer);
      const token = await issuer.sign(
        {
          sub: claimant.iamPrincipalId,
          tenant_id: tenantId,
          scope: ['control-plane:write', 'control-plane:read'],
        },
        { lifeSeconds: tokenSeconds },
      );
      claimants.push({ ...claimant, token });
    }
    const taskIds = await insertTasks(pool, { tenantId, createdBy: adminPrincipalId, tasks, eventsPerTask });
    await pool.run(sql`analyze tasks`);
    await pool.run(sql`analyze events`);
    return {
      tenantId,
      claimants,
      nextTaskId() {
        const id = taskIds.pop();
        if (id === undefined) throw new BenchError('All tasks were claimed: raise --tasks.');
        return id;
      },
      settings: {
        CP_DATABASE_URL: databaseUrl,
        CP_IAM_ISSUER: issuer.issuer,
        CP_IAM_JWKS_URL: issuer.jwksUrl,
      },
      close: () => issuer.close(),
    };
  } finally {
    await pool.close();
  }
}

export async function insertClaimant(
  pool: Pool,
  tenantId: string,
  issuer: string,
  permissions = ['tasks.claim', 'tasks.read'],
) {
  const [principalId, iamPrincipalId, sessionId] = [newId(), newId(), newId()];
  await pool.run(sql`
    insert into principals (id, tenant_id, kind, display_name)
    values (${principalId}, ${tenantId}, 'agent', 'bench agent')`);
  await pool.run(sql`
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
    values (${newId()}, ${tenantId}, ${principalId}, ${issuer}, ${tenantId}, ${iamPrincipalId}, ${permissions})`);
  await pool.run(sql`
    insert into sessions (id, tenant_id, principal_id, client_name, control_level, expires_at)
    values (${sessionId}, ${tenantId}, ${principalId}, 'bench', 'connected', now() + interval '1 hour')`);
  return { principalId, iamPrincipalId, sessionId };
}

interface NewTasks {
  readonly tenantId: string;
  readonly createdBy: string;
  readonly tasks: number;
  readonly eventsPerTask: number;
}

/**
 * Two words of each title vary: one of 40 and one of 50, so that a search for both finds one task in 2,000. Fifty
 * titles, evenly spread, have an additional word.
 */
async function insertTasks(
  pool: Pool,
  { tenantId, createdBy, tasks, eventsPerTask }: NewTasks,
): Promise<string[]> {
  const all: string[] = [];
  while (all.length < tasks) {
    const ids = Array.from({ length: Math.min(tasksPerInsert, tasks - all.length) }, newId);
    await pool.run(sql`
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by)
      select id, ${tenantId}, ${all.length}::bigint + number, (select id from task_types limit 1),
        'Repair topic' || number % 40 || ' for customer' || number / 40 % 50
          || case when (${all.length}::bigint + number) % ${Math.max(1, Math.floor(tasks / 50))}::bigint = 0 then ' xylophone' else '' end, 'todo', 'active', 2,
        '{"kind":"harness","evidence":[]}', ${createdBy}
      from unnest(${ids}::uuid[]) with ordinality as given (id, number)`);
    if (eventsPerTask > 0)
      await pool.run(sql`
        insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, actor_id, payload)
        select gen_random_uuid(), ${tenantId}, 'task.updated', 1, 'task', id, ${createdBy}, '{"fields":["description"],"version":2}'
        from unnest(${ids}::uuid[]) id, generate_series(1, ${eventsPerTask}::integer)`);
    all.push(...ids);
  }
  return all;
}
