import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import type { Call } from '@baton/kernel/http/runtime';
import type { Endpoint, Input } from '@baton/kernel/http/service';
import type { Caller } from '../service/caller.ts';
import { type Actor, startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { done, makeTask, openSession } from '../testing/leases.ts';
import { makeNarrowPerson } from '../testing/organisation/workspaces.ts';
import { pagesReadBy } from '../testing/work/pages-read.ts';
import { type Context, contextOf, type Tools } from './context.ts';
import { endpoints } from './endpoints.ts';

/** The number of invisible rows at the first and at the second measurement. */
const [few, many] = [1000, 10_000];

let baton: TestCoordination;
let person: Actor;
let mine: { id: string };
let other: { id: string };
let goal: { id: string };
let sessionId: string;

before(async () => {
  baton = await startCoordination();
  ({ person, mine, other } = await makeNarrowPerson(baton));
  goal = await done(baton.admin.post('/goals', { title: 'all' }), 201);
  sessionId = await openSession(baton.admin);
  for (const workspaceId of [mine.id, null]) await makeTask(baton, { workspaceId });
  await hang(await insertTasks(2, mine.id));
  await fill(few);
});
after(() => baton.close());

/** Tasks that every filter below matches. */
async function insertTasks(count: number, workspaceId: string): Promise<string[]> {
  const { principalId } = person;
  const rows = await baton.pool.rows<{ id: string }>(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin,
      created_by, owner_id, assignee_id, goal_id, start_date, due_date)
    select gen_random_uuid(), ${baton.tenantId}::uuid, next_task_number(${baton.tenantId}), ${workspaceId}::uuid,
      (select id from task_types where tenant_id = ${baton.tenantId} and key = 'task'), 'x', 'todo', 'active', 2, '{}',
      ${principalId}::uuid, ${principalId}::uuid, ${principalId}::uuid, ${goal.id}::uuid, '2026-01-01', '2026-01-01'
    from generate_series(1, ${count}::integer)
    returning id`);
  return rows.map(({ id }) => id);
}

/** A claim, a run, an artifact and an approval of each task. */
async function hang(taskIds: readonly string[]): Promise<void> {
  const { tenantId, pool } = baton;
  await pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`
      with made as (
        insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, expires_at, status)
        select gen_random_uuid(), ${tenantId}::uuid, id, ${sessionId}::uuid, ${person.principalId}::uuid, 1, now(), 'released'
        from unnest(${taskIds}::uuid[]) as task (id)
        returning *
      ), begun as (
        insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status, stalled_at)
        select gen_random_uuid(), tenant_id, task_id, id, holder_id, session_id, 1, 1, 'running', now() from made
        returning *
      )
      insert into artifacts (id, tenant_id, created_by, task_id, run_id, type, name)
      select gen_random_uuid(), tenant_id, principal_id, task_id, id, 'report', 'x' from begun`);
    await tx.run(sql`
      insert into approvals (id, tenant_id, task_id, requested_by_principal_id, assigned_principal_id, gate)
      select gen_random_uuid(), ${tenantId}::uuid, id, ${person.principalId}::uuid, ${person.principalId}::uuid, true
      from unnest(${taskIds}::uuid[]) as task (id)`);
  });
}

/** More rows of every kind, invisible to the person and newer than the visible ones. */
async function fill(count: number): Promise<void> {
  const { tenantId, pool } = baton;
  await hang(await insertTasks(count, other.id));
  await pool.run(sql`
    insert into goals (id, tenant_id, workspace_id, title, created_from, path, created_by, owner_id)
    select id, ${tenantId}::uuid, ${other.id}::uuid, 'x', '{}', array[id], ${person.principalId}::uuid, ${person.principalId}::uuid
    from (select gen_random_uuid() as id from generate_series(1, ${count}::integer)) made`);
  await pool.run(sql`
    with made as (
      insert into roles (id, tenant_id, workspace_id, slug, name)
      select gen_random_uuid(), ${tenantId}::uuid, ${other.id}::uuid, gen_random_uuid()::text, 'x'
      from generate_series(1, ${count}::integer)
      returning id
    )
    insert into role_assignments (id, tenant_id, principal_id, role_id)
    select gen_random_uuid(), ${tenantId}::uuid, ${person.principalId}::uuid, id from made`);
  await pool.run(sql`
    insert into rules (id, tenant_id, workspace_id, key, status, trigger, action, created_by)
    select gen_random_uuid(), ${tenantId}::uuid, ${other.id}::uuid, gen_random_uuid()::text, 'disabled',
      '{"kind": "observation", "type": "x"}', '{"kind": "ensure_work"}', ${person.principalId}::uuid
    from generate_series(1, ${count}::integer)`);
  await pool.run(sql`
    insert into sessions (id, tenant_id, principal_id, client_name, client_version, control_level, metadata, lease_seconds,
      started_at, heartbeat_at, expires_at, sweep_at)
    select gen_random_uuid(), s.tenant_id, s.principal_id, 'x', '', s.control_level, '{}', s.lease_seconds, now(), now(), now(), now()
    from sessions s, generate_series(1, ${count}::integer) where s.id = ${sessionId}`);
  await pool.run(sql`
    insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
    select id, ${tenantId}::uuid, ${other.id}::uuid, array[${other.id}::uuid, id], type_id, 'w' || id, 'x'
    from (select gen_random_uuid() as id, w.type_id from workspaces w, generate_series(1, ${count}::integer) where w.id = ${other.id}) made`);
  for (const table of [
    'tasks',
    'claims',
    'runs',
    'artifacts',
    'approvals',
    'goals',
    'roles',
    'role_assignments',
    'sessions',
    'rules',
    'workspaces',
  ])
    await pool.run({ text: `vacuum analyze ${table}`, values: [] });
}

/** Lists, each with queries that match all invisible rows and some of the visible ones. */
function lists(): Record<string, Record<string, unknown>[]> {
  const { principalId } = person;
  const filters = [
    {},
    { status: 'todo' },
    { systemStatusCategory: 'active' },
    { typeKey: 'task' },
    { priority: 'medium' },
    { ownerId: principalId },
    { assigneeId: principalId },
    { goalId: goal.id },
    { startFrom: '2025-01-01T00:00:00.000Z' },
    { startTo: '2027-01-01T00:00:00.000Z' },
    { dueFrom: '2025-01-01T00:00:00.000Z' },
    { dueTo: '2027-01-01T00:00:00.000Z' },
  ];
  return {
    listTasks: [
      ...['', 'startDate', 'dueDate'].flatMap((sort) =>
        filters.map((filter) => (sort === '' ? filter : { ...filter, sort })),
      ),
      { workspaceId: mine.id, includeDescendants: true },
    ],
    listClaims: [{}, { status: 'released' }, { sessionId }, { sessionId, status: 'released' }],
    listRuns: [{}, { status: 'running' }, { principalId }, { stalled: true }],
    listArtifacts: [{}, { type: 'report' }],
    listApprovals: [{}, { status: 'pending' }],
    listSessions: [{}, { status: 'active' }, { principalId }],
    listGoals: [{}, { status: 'active' }, { ownerId: principalId }, { workspaceId: other.id }],
    listRoles: [{}, { workspaceId: other.id }],
    listRules: [{}, { status: 'disabled' }, { triggerKind: 'observation' }, { workspaceId: other.id }],
    listAvailableWork: [{}, { assigneeId: principalId }, { assignedToMe: true }],
    getWorkspaceTree: [{}, { depth: 1 }, { includeArchived: true }],
    listWorkspaces: [{}, { status: 'active' }, { rootsOnly: true }, { parentId: other.id }],
  };
}

test('a page for a person with limited visibility costs the same with 1,000 and with 10,000 newer invisible rows', async (t) => {
  const measured = new Map<string, number>();
  for (const [id, queries] of Object.entries(lists()))
    for (const query of queries) measured.set(`${id} ${JSON.stringify(query)}`, await pagesOf(id, query));
  await fill(many - few);
  for (const [id, queries] of Object.entries(lists()))
    for (const query of queries) {
      const name = `${id} ${JSON.stringify(query)}`;
      const before = measured.get(name) as number;
      await t.test(name, async () => {
        const now = await pagesOf(id, query);
        // The count that selects one of the two plans reads at most 2,049 rows: 300 pages if the planner reads them
        // from the table. A page whose cost grew with the invisible rows would read ten times as many.
        assert.ok(now <= 2500 && now <= 1.2 * before + 400, `${before} pages, then ${now}`);
      });
    }
});

async function pagesOf(endpointId: string, query: object): Promise<number> {
  const endpoint = endpoints.find(({ id }) => id === endpointId) as Endpoint<Context>;
  let pages = 0;
  const counted: Db = {
    rows: async (statement) => (
      (pages += await pagesReadBy(baton.pool, statement)), baton.pool.rows(statement)
    ),
    row: async (statement) => (
      (pages += await pagesReadBy(baton.pool, statement)), baton.pool.row(statement)
    ),
    run: (statement) => baton.pool.run(statement),
  };
  const caller: Caller = {
    ...{ tenantId: baton.tenantId, principalId: person.principalId, kind: 'human', iamPrincipalId: null },
    permissions: new Set(['sessions.manage', 'tasks.read', 'principals.read', 'artifacts.read']),
  };
  const call = { caller, endpoint: endpointId, correlationId: 'test' } as Call<Caller>;
  const context = contextOf({} as Tools, call, counted, false);
  const input = { params: {}, query, body: undefined, ifMatch: 0, page: { limit: 50, cursor: undefined } };
  await endpoint.handle(input as unknown as Input<never, never, never>, context);
  return pages;
}
