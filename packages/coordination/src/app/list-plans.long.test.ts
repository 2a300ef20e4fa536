import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Db, Pool } from '@baton/kernel/database/db';
import { type Statement, sql } from '@baton/kernel/database/sql';
import type { Call } from '@baton/kernel/http/runtime';
import type { Endpoint, Input } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import type { Caller } from '../service/caller.ts';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { insertTestType } from '../testing/definitions/task-type.ts';
import { type Context, contextOf, type Tools } from './context.ts';
import { endpoints } from './endpoints.ts';

const rows = 20_000;
/** A page holds 50 rows; twenty times as many may be read for it. */
const rowsReadMax = 1000;
/** Each workspace is counted first, and each task and its project are found by id: up to 2,227 rows. */
const rowsOfPlacesMax = 3000;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
  await insertTestType(baton, { key: 'rare' });
  await insertTestType(baton, {
    key: 'odd',
    lifecycle: {
      statuses: [
        { key: 'odd', category: 'active', displayName: 'Odd' },
        { key: 'done', category: 'terminal_success', displayName: 'Done' },
      ],
      initialStatus: 'odd',
      transitions: [],
      completionStatus: 'done',
    },
  });
  await fill(baton);
});
after(() => baton.close());

/** A large tenant, in which the filters below match few rows or none. */
async function fill({ pool, tenantId, admin: { principalId } }: TestCoordination): Promise<void> {
  await pool.run(sql`
    insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by,
      created_at)
    select gen_random_uuid(), ${tenantId}::uuid, 1000 + n, (select id from task_types where tenant_id = ${tenantId} and key = 'task'),
      'work ' || n, 'todo', 'active', 2, '{"kind":"human","evidence":[]}', ${principalId}::uuid, now() - n * interval '1 second'
    from generate_series(1, ${rows}::integer) n`);
  await pool.transaction((tx) => fillExecution(tx, tenantId, principalId));
  await fillWorkspaces(pool, tenantId);
  await fillProjects(pool, tenantId, principalId);
  await pool.run(sql`analyze`);
}

async function fillExecution(tx: Db, tenantId: string, principalId: string): Promise<void> {
  // Without foreign keys: checking them takes most of the time.
  await tx.run(sql`set local session_replication_role = replica`);
  await tx.run(sql`
    insert into sessions (id, tenant_id, principal_id, client_name, control_level, expires_at)
    select gen_random_uuid(), ${tenantId}::uuid, ${principalId}::uuid, 'test', 'observed', now() + interval '1 hour'
    from generate_series(1, ${rows}::integer)`);
  await tx.run(sql`
    insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, expires_at, status)
    select gen_random_uuid(), ${tenantId}::uuid, id, (select id from sessions limit 1), ${principalId}::uuid, 1, now(), 'released'
    from tasks where tenant_id = ${tenantId}`);
  await tx.run(sql`
    insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status)
    select gen_random_uuid(), tenant_id, task_id, id, holder_id, session_id, 1, 1, 'succeeded' from claims`);
  await tx.run(sql`
    insert into artifacts (id, tenant_id, created_by, task_id, run_id, type, name)
    select gen_random_uuid(), tenant_id, principal_id, task_id, id, 'report', 'Findings' from runs`);
  await tx.run(sql`
    insert into approvals (id, tenant_id, task_id, requested_by_principal_id, assigned_principal_id, gate)
    select gen_random_uuid(), tenant_id, id, created_by, created_by, true from tasks where tenant_id = ${tenantId}`);
  await tx.run(sql`
    insert into principals (id, tenant_id, kind, display_name)
    select gen_random_uuid(), ${tenantId}::uuid, 'agent', 'agent' from generate_series(1, 19000)`);
  await tx.run(sql`
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, access_role, permissions)
    select gen_random_uuid(), tenant_id, id, 'https://issuer.example', tenant_id, id, 'member', '{tasks.read}'
    from principals where display_name = 'agent'`);
}

/** One root with 20,000 workspaces below it, and below one of those another 50, each with a task. */
async function fillWorkspaces(db: Db, tenantId: string): Promise<void> {
  const insert = (above: string[], count: number, ids: string[] = []) =>
    db.rows<{ id: string }>(sql`
      insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
      select made.id, ${tenantId}, ${above.at(-1) ?? null}::uuid, ${above}::uuid[] || made.id, t.id, 'w' || n, 'x'
      from (select n, coalesce((${ids}::uuid[])[n], gen_random_uuid()) as id from generate_series(1, ${count}::integer) n) made,
        workspace_types t
      where t.tenant_id = ${tenantId} and t.is_system
      returning id`);
  const root = newId();
  await insert([], 1, [root]);
  await insert([root], rows, [subtree]);
  for (const { id } of await insert([root, subtree], 50))
    await db.run(sql`
      update tasks set workspace_id = ${id} where id = (select id from tasks where workspace_id is null and tenant_id = ${tenantId} limit 1)`);
}
/** A project in each of the 20,000 workspaces, and none below them; 20,000 versions of a template. */
async function fillProjects(db: Db, tenantId: string, principalId: string): Promise<void> {
  const [template] = await db.rows<{ id: string }>(sql`
    insert into project_templates (id, tenant_id, key, version, display_name, field_schema, lifecycle_schema, default_config,
      default_views, governance_schema, memory_defaults, created_by)
    select gen_random_uuid(), ${tenantId}, 'launch', n, 'x', '{}', '{}', '{}', '[]', '{}', '{}', ${principalId}
    from generate_series(1, ${rows}::integer) n
    returning id`);
  await db.run(sql`
    with made as (
      insert into projects (id, tenant_id, workspace_id, template_id, template_key, template_version, status_key,
        system_status_category, custom_fields, settings, created_by)
      select gen_random_uuid(), tenant_id, id, ${template?.id}, 'launch', 1, 'planned', 'planned', '{}', '{}', ${principalId}
      from workspaces where cardinality(path) = 2
      returning id, workspace_id
    )
    update workspaces w set project_id = made.id from made where made.workspace_id = w.path[2]`);
}

/** One of 20,000 workspaces. */
const subtree = newId();

/** For each filter of each list, a value that matches few rows or none. */
const samples: Record<string, string | boolean | string[]> = {
  'listTasks status': 'done',
  'listTasks systemStatusCategory': 'blocked',
  'listTasks typeKey': 'rare',
  'listTasks priority': 'critical',
  'listTasks startFrom': '2026-01-01T00:00:00.000Z',
  'listTasks startTo': '2026-01-01T00:00:00.000Z',
  'listTasks dueFrom': '2026-01-01T00:00:00.000Z',
  'listTasks dueTo': '2026-01-01T00:00:00.000Z',
  'listTasks sort': 'startDate',
  'listTasks q': 'absent',
  'listAvailableWork assignedToMe': true,
  'listPrincipals kind': 'service',
  'listPeople kind': 'service',
  'listPeople accessRole': 'member',
  'listPeople iamPrincipalIds': [newId()],
  'listTaskTypes key': 'absent',
  'listTaskTypes status': 'deprecated',
  'listSessions status': 'stale',
  'listSessions principalId': newId(),
  'listClaims status': 'stale',
  'listRuns status': 'failed',
  'listRuns agentKey': 'absent',
  'listAgents status': 'retired',
  'listAgents state': 'stopped',
  'listAgents include': 'status',
  'listAgents package': 'absent',
  'listConnectionTypes package': 'absent',
  'listProcessDefinitions package': 'absent',
  'listRuns stalled': true,
  'listSkills status': 'disabled',
  'listSkills name': 'absent',
  'listRoles package': 'absent',
  'listConnectionTypes key': 'absent',
  'listConnectionTypes status': 'disabled',
  'listConnections type': 'absent',
  'listConnections status': 'revoked',
  'listArtifacts type': 'absent',
  'listApprovals status': 'rejected',
  'listGoals status': 'abandoned',
  'listWorkspaces status': 'archived',
  'listWorkspaces rootsOnly': true,
  'listWorkspaceTypes status': 'archived',
  'listProjectTemplates key': 'absent',
  'listProjectTemplates status': 'deprecated',
  'listProjects status': 'archived',
  'listRules status': 'disabled',
  'listProcessDefinitions status': 'retired',
  'listRules triggerKind': 'schedule',
  'listProcessInstances status': 'failed',
  'listProcessInstances definitionKey': 'absent',
  'listProcessInstances instanceKey': 'absent',
  'listProcessInstances slaState': 'breached',
  'listProjects statusKey': 'absent',
  'listProjects systemStatusCategory': 'paused',
  'listProjects templateKey': 'absent',
};
/** Filters that depend on another one, without which they accept no value or change nothing. */
const inert = new Set([
  'workspaceId',
  'includeDescendants',
  'projectId',
  'includeSubprojects',
  'goalId',
  'externalSystem',
  'externalType',
  'externalId',
  'limit',
  'cursor',
  // Other principals are refused.
  'runId',
]);

describe('every list over 20,000 rows reads fewer than 1,000 of them', () => {
  const lists = endpoints.filter(
    // The journal's lists use their own positions; journal.test.ts checks them. External references are looked up by
    // all columns of a unique index, or by object.
    ({ paging, params, path }) =>
      paging && Object.keys(params).length === 0 && path !== '/events' && path !== '/external-references',
  );
  for (const endpoint of lists)
    for (const filter of ['', ...Object.keys(endpoint.query)].filter((name) => !inert.has(name)))
      test(`${endpoint.method} ${endpoint.path}${filter && `?${filter}=`}`, async () => {
        const value = samples[`${endpoint.id} ${filter}`] ?? newId();
        // A search reads 300 tasks first, and then their texts. Its joins would count them three times, so only steps
        // on tables count.
        const counts = filter === 'q' ? isOfTable : undefined;
        assert.ok(
          (await rowsReadBy(endpoint, filter === '' ? {} : { [filter]: value }, counts)) <= rowsReadMax,
        );
      });
});

describe('the claims of a session with 20,000 claims are read in pages of fewer than 1,000 rows', () => {
  const listClaims = endpoints.find(({ id }) => id === 'listClaims') as Endpoint<Context>;
  for (const status of [undefined, 'active', 'released'])
    test(`status ${status ?? 'any'}`, async () => {
      const [claim] = await baton.pool.rows<{ session_id: string }>(
        sql`select session_id from claims limit 1`,
      );
      const query = { sessionId: claim?.session_id, ...(status !== undefined && { status }) };
      assert.ok((await rowsReadBy(listClaims, query)) <= rowsReadMax);
    });
});

describe('the tasks of one workspace among 20,000, and of those below it, are read without the others', () => {
  for (const id of ['listTasks', 'listAvailableWork'])
    for (const includeDescendants of [true, false])
      test(`${id} includeDescendants=${includeDescendants}`, async () => {
        const list = endpoints.find((endpoint) => endpoint.id === id) as Endpoint<Context>;
        const read = await rowsReadBy(list, { workspaceId: subtree, includeDescendants });
        assert.ok(read <= rowsOfPlacesMax, `${read} rows`);
      });
});

describe('the tasks of one project among 20,000 are read without the others', () => {
  for (const id of ['listTasks', 'listAvailableWork'])
    for (const includeSubprojects of [true, false])
      test(`${id} includeSubprojects=${includeSubprojects}`, async () => {
        const list = endpoints.find((endpoint) => endpoint.id === id) as Endpoint<Context>;
        const [project] = await baton.pool.rows<{ id: string }>(
          sql`select id from projects where workspace_id = ${subtree}`,
        );
        const read = await rowsReadBy(list, { projectId: project?.id, includeSubprojects });
        assert.ok(read <= rowsOfPlacesMax, `${read} rows`);
      });
});

test('the effective configuration of one project among 20,000 is read without the others, in one statement', async () => {
  const [project] = await baton.pool.rows<{ id: string }>(
    sql`select id from projects where workspace_id = ${subtree}`,
  );
  const read = endpoints.find(({ id }) => id === 'getEffectiveConfig') as Endpoint<Context>;
  assert.ok((await rowsReadBy(read, {}, undefined, { id: project?.id })) <= 20);
});

test('among 20,000 tasks of a category, a status that few types have is found with fewer than 1,000 rows', async () => {
  const searchTasks = endpoints.find(({ id }) => id === 'listTasks') as Endpoint<Context>;
  assert.ok((await rowsReadBy(searchTasks, { status: 'odd' })) <= rowsReadMax);
});

test('the work of one goal among 20,000 tasks is read without the others', async () => {
  const { body: goal } = await baton.admin.post('/goals', { title: 'x' });
  await baton.pool.run(sql`
    update tasks set goal_id = ${goal.id} where id in (select id from tasks where goal_id is null limit 5)`);
  const list = endpoints.find(({ id }) => id === 'listTasks') as Endpoint<Context>;
  assert.ok((await rowsReadBy(list, { goalId: goal.id })) <= rowsReadMax);
});

describe('a search over 20,000 rows reads fewer than 1,000 of them from tables and indexes', () => {
  const searchTasks = endpoints.find(({ id }) => id === 'listTasks') as Endpoint<Context>;
  for (const q of [
    'x',
    'zq',
    'absent',
    'work 19999',
    '19999',
    'task-020999',
    'w o r k',
    'work',
    '%',
    '1 2 3 4 5 6 7 8 9 zq',
  ])
    test(`q=${q}`, async () => {
      assert.ok((await rowsReadBy(searchTasks, { q }, isOfTable)) <= rowsReadMax);
    });
  test('sort=dueDate&q=absent', async () => {
    assert.ok((await rowsReadBy(searchTasks, { q: 'absent', sort: 'dueDate' }, isOfTable)) <= rowsReadMax);
  });
});

test('a search with too many matches for the index and too few for the first scan finds the newest tasks', async () => {
  const named = ({ title }: { title: string }) => title;
  const { body } = await baton.admin.get('/tasks?q=5+9');
  const naive = await baton.pool.rows<{ title: string }>(sql`
    select title from tasks
    where tenant_id = ${baton.tenantId} and position('5' in title || public_id) > 0 and position('9' in title || public_id) > 0
    order by created_at desc, id desc limit 2600`);
  assert.ok(naive.length > 2500);
  assert.deepEqual(body.items.map(named), naive.slice(0, 50).map(named));
});

/** Runs an endpoint's handler on the store and counts the rows that its statements touched. */
async function rowsReadBy(
  endpoint: Endpoint<Context>,
  query: Record<string, unknown>,
  counts: (node: PlanNode) => boolean = () => true,
  params: Record<string, unknown> = {},
): Promise<number> {
  const counted = loadCredential(baton.pool, counts);
  const { tenantId, admin } = baton;
  const caller: Caller = {
    ...{ tenantId, principalId: admin.principalId, kind: 'human', iamPrincipalId: null },
    permissions: new Set(['sessions.manage', 'tasks.read', 'principals.read', 'artifacts.read']),
  };
  const context = contextOf(
    {} as Tools,
    { caller, endpoint: endpoint.id, correlationId: 'test' } as Call<Caller>,
    counted.db,
    false,
  );
  const input = { params, query, body: undefined, ifMatch: 0, page: { limit: 50, cursor: undefined } };
  await endpoint.handle(input as unknown as Input<never, never, never>, context);
  return counted.rowsRead();
}

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

/** Only steps that read a table or an index, not joins, sorts and other steps between them. */
const isOfTable = (node: PlanNode) => (node['Relation Name'] ?? node['Index Name']) !== undefined;

function loadCredential(pool: Pool, counts: (node: PlanNode) => boolean): { db: Db; rowsRead(): number } {
  let read = 0;
  const explain = async ({ text, values }: Statement<unknown>) => {
    const [plan] = await pool.rows<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({
      text: `explain (analyze, format json) ${text}`,
      values,
    });
    read += rowsOf(
      (plan as { 'QUERY PLAN': { Plan: PlanNode }[] })['QUERY PLAN'][0]?.Plan as PlanNode,
      counts,
    );
  };
  const db: Db = {
    rows: async (statement) => (await explain(statement), pool.rows(statement)),
    row: async (statement) => (await explain(statement), pool.row(statement)),
    run: (statement) => pool.run(statement),
  };
  return { db, rowsRead: () => read };
}

function rowsOf(node: PlanNode, counts: (node: PlanNode) => boolean): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own = counts(node) ? (node['Actual Rows'] + removed) * node['Actual Loops'] : 0;
  return Math.max(own, 0) + (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child, counts), 0);
}
