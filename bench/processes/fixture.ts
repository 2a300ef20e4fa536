import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { startIssuer } from '@baton/coordination/testing/issuer';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { migrate } from '@baton/kernel/database/migrate';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { BenchError } from '../bench-error.ts';
import { insertClaimant, migrations, tokenSeconds } from '../claim/fixture.ts';

export interface ProcessFixture {
  readonly tenantId: string;
  readonly pool: Pool;
  readonly token: string;
  /** Coordination's settings for the database and the tokens. */
  readonly settings: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const permissions = [
  'processes.read',
  'processes.write',
  'processes.operate',
  'agents.read',
  'agents.manage',
  'agents.status.write',
  'tasks.claim',
  'sessions.open',
  'principals.write',
  'principals.read',
  'tasks.read',
  'tasks.write',
];

/** An empty tenant with a principal who may publish and start processes. */
export async function makeProcessFixture(databaseUrl: string): Promise<ProcessFixture> {
  await migrate(databaseUrl, migrations);
  const issuer = await startIssuer();
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: 2,
    applicationName: 'baton-bench',
    statementTimeoutMs: 120_000,
    lockTimeoutMs: 60_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  const { tenantId } = await foundTenant(pool, {
    tenantSlug: 'bench',
    tenantName: 'Bench',
    adminDisplayName: 'Bench',
  });
  const { iamPrincipalId } = await insertClaimant(pool, tenantId, issuer.issuer, permissions);
  const scope = ['control-plane:write', 'control-plane:read'];
  const claims = { sub: iamPrincipalId, tenant_id: tenantId, scope };
  const token = await issuer.sign(claims, { lifeSeconds: tokenSeconds });
  const settings = {
    CP_DATABASE_URL: databaseUrl,
    CP_IAM_ISSUER: issuer.issuer,
    CP_IAM_JWKS_URL: issuer.jwksUrl,
  };
  return {
    tenantId,
    pool,
    token,
    settings,
    async close() {
      await pool.close();
      await issuer.close();
    },
  };
}

/** Sends a request that must succeed. */
export async function post(
  port: number,
  token: string,
  path: string,
  body: object,
  method: 'POST' | 'PUT' = 'POST',
) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${port}/api/v1${path}`;
  // oxlint-disable-next-line unicorn/no-invalid-fetch-options -- POST and PUT alone
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new BenchError(`${method} ${path} got ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as { id: string; status: string };
}

/** Publishes a process that acts as an agent of the registry. @returns its key */
export async function publish(port: number, { token, tenantId, settings }: ProcessFixture, steps: object[]) {
  const agent = `a${newId()}`;
  await post(port, token, '/agents', { key: agent, spec: specOfAgent });
  const identity = {
    issuer: settings['CP_IAM_ISSUER'],
    iamTenantId: tenantId,
    iamPrincipalId: newId(),
  };
  await post(port, token, `/agents/${agent}/identity`, identity, 'PUT');
  const key = `p-${newId()}`;
  const spec = {
    version: 1,
    displayName: 'Bench',
    identity: { agent },
    data: { type: 'object', additionalProperties: true },
    start: { on: { observation: `never-${newId()}` }, key: 'event.id' },
    stages: [{ id: 'main', steps }],
  };
  await post(port, token, '/process-definitions', { key, spec });
  return key;
}

const specOfAgent = {
  displayName: 'Bench',
  identity: { kind: 'agent', permissions: ['tasks.read', 'tasks.write'] },
};

/** Copies an instance that waits for a timer; the copies' timers are due evenly within a time. */
export async function copyWaitingInstances(
  pool: Pool,
  id: string,
  copies: number,
  due: { fromSeconds: number; withinSeconds: number },
): Promise<void> {
  const perInsert = 10_000;
  for (let before = 0; before < copies; before += perInsert)
    await pool.run(sql`
      with made as materialized (
        select i as original, gen_random_uuid() as id, gen_random_uuid() as timer, date_trunc('milliseconds', now()
          + make_interval(secs => ${due.fromSeconds} + ${due.withinSeconds}::float8 * n / ${copies})) as due_at, n
        from process_instances i, generate_series(${before}::integer, ${Math.min(copies, before + perInsert) - 1}::integer) n
        where i.id = ${id}
      ), timer as (
        select key as old_id from process_instances i, jsonb_each(i.state -> 'timers') where i.id = ${id} limit 1
      ), instances as (
        insert into process_instances (id, tenant_id, workspace_id, definition_key, definition_version, instance_key,
          identity_agent, status, state, journal_seq, started_at)
        select made.id, (original).tenant_id, (original).workspace_id, (original).definition_key,
          (original).definition_version, made.id::text, (original).identity_agent, 'running',
          jsonb_set(replace(replace((original).state::text, ${id}, made.id::text), old_id, made.timer::text)::jsonb,
            array['timers', made.timer::text, 'dueAt'],
            to_jsonb(to_char(due_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
          (original).journal_seq, (original).started_at
        from made, timer returning id
      ), waits as (
        insert into process_waits (instance_id, wait_key, tenant_id)
        select id, 'entity:' || gen_random_uuid(), (original).tenant_id from made
      )
      insert into process_timers (id, instance_id, tenant_id, due_at)
      select timer, id, (original).tenant_id, due_at from made`);
  await pool.run(sql`analyze process_instances, process_timers, process_waits`);
}
