import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { done, openSession } from '../testing/leases.ts';
import { makeWorkspace } from '../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let sessionId: string;
before(async () => {
  baton = await startCoordination();
  sessionId = await openSession(baton.admin);
});
after(() => baton.close());

/** More rows than a search skips before it reads the rows that the person sees. */
const tasks = 500;

/** The origin of the inserted tasks. */
const origin = JSON.stringify({ kind: 'human' });

/** A tree: for each workspace, the number of its parent among the earlier ones, or none. */
const world = fc.record({
  parents: fc.array(fc.option(fc.nat(20), { nil: null }), { minLength: 3, maxLength: 9 }),
  members: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
  moves: fc.array(fc.record({ of: fc.nat(20), to: fc.option(fc.nat(20), { nil: null }) }), { maxLength: 3 }),
  archived: fc.array(fc.nat(20), { maxLength: 2 }),
  limit: fc.constantFrom(50, 200),
});

const queries: Record<string, string[]> = {
  '/tasks': [
    ...['', 'systemStatusCategory=active', 'priority=high', 'ownerId=ME', 'assigneeId=ME', 'goalId=GOAL'],
    ...['startFrom=2026-01-05', 'dueTo=2026-01-20', 'sort=startDate', 'sort=dueDate&priority=low'],
    ...['typeKey=task', 'status=todo', 'q=red', 'workspaceId=SEEN&includeDescendants=true'],
  ],
  '/claims': ['', 'status=released', `sessionId=SESSION`],
  '/runs': ['', 'status=failed', 'principalId=ME', 'stalled=true'],
  '/artifacts': ['', 'type=report', 'workspaceId=SEEN'],
  '/approvals': ['', 'status=pending'],
  '/goals': ['', 'status=active', 'ownerId=ME'],
  '/goals/GOAL/work': ['', 'systemStatusCategory=backlog'],
  '/roles': ['', 'workspaceId=SEEN'],
  '/rules': ['', 'status=archived', 'triggerKind=observation', 'workspaceId=SEEN'],
  '/projects': ['', 'status=archived', 'templateKey=narrow'],
  '/workspaces': ['', 'status=archived', 'status=active', 'parentId=SEEN'],
  '/principals/ME/roles': ['limit=20'],
};

test('pages for a person with limited visibility have all rows of the visible workspaces, in order', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (made) => {
      const { person, sees, names } = await makeWorld(made);
      for (const [path, filters] of Object.entries(queries))
        for (const filter of filters) {
          const query = `${path}?${filter}`.replace(/[A-Z]{2,}/g, (name) => names[name] ?? name);
          const all = await walk(baton.admin, query, 200);
          const expected = [];
          for (const item of all) if (await sees(path, item)) expected.push(item.id ?? item.claimId);
          const found = (await walk(person, query, made.limit)).map(({ id, claimId }) => id ?? claimId);
          assert.deepEqual(found, expected, query);
        }
    }),
    { numRuns: byDepth(1, 2) },
  );
});

async function walk(by: Actor, query: string, limit: number): Promise<any[]> {
  const items = [];
  for (let cursor = ''; ; ) {
    const withLimit = query.includes('limit=') ? query : `${query}&limit=${limit}`;
    const page = await done(by.get(`${withLimit}${cursor}`));
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

async function makeWorld({ parents, members, moves, archived }: any) {
  const person = await baton.actor({ kind: 'human' });
  const { principalId } = person;
  const ids: string[] = [];
  for (const parent of parents)
    ids.push(
      (
        await makeWorkspace(baton, {
          parentId: parent === null || ids.length === 0 ? null : ids[parent % ids.length],
        })
      ).id,
    );
  const at = (n: number) => ids[n % ids.length] as string;
  for (const member of new Set<string>(members.map(at)))
    await done(baton.admin.post(`/workspaces/${member}/members`, { principalId }), 201);
  await fill(ids, principalId);
  // Some moves are refused: those to a place below the workspace itself, and those of a workspace with active objects
  // below it.
  for (const { of, to } of moves)
    await baton.admin.post(`/workspaces/${at(of)}:move`, { parentId: to === null ? null : at(to) });
  for (const n of archived) await baton.admin.post(`/workspaces/${at(n)}:archive`, {});
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${principalId}`,
  );

  const own = new Set<string>(members.map(at));
  const paths = new Map(
    (await baton.pool.rows<{ id: string; path: string[] }>(sql`select id, path from workspaces`)).map(
      (row) => [row.id, row.path],
    ),
  );
  const inSight = (workspaceId: string | null) =>
    workspaceId === null || (paths.get(workspaceId) ?? []).some((id) => own.has(id));
  const places = new Map(
    (
      await baton.pool.rows<{ id: string; workspace_id: string | null }>(
        sql`select id, workspace_id from tasks`,
      )
    ).map((row) => [row.id, row.workspace_id]),
  );
  const sees = async (path: string, item: any) => {
    if (path === '/workspaces') return inSight(item.id);
    if (path === '/principals/ME/roles') return inSight(item.workspaceId) && inSight(item.role.workspaceId);
    return inSight(item.taskId == null ? (item.workspaceId ?? null) : (places.get(item.taskId) ?? null));
  };
  const seen = ids.find(inSight) ?? (await makeWorkspace(baton)).id;
  const [goal] = await baton.pool.rows<{ id: string }>(
    sql`select id from goals where workspace_id is null order by created_at desc limit 1`,
  );
  return {
    person,
    sees,
    names: { ME: principalId, SEEN: seen, GOAL: goal?.id, SESSION: sessionId } as Record<string, string>,
  };
}

/** Rows of all kinds in random workspaces, some with equal times. */
async function fill(ids: readonly string[], principalId: string): Promise<void> {
  const { tenantId, pool } = baton;
  await pool.transaction(async (tx) => {
    const [template] = await tx.rows<{ id: string }>(sql`
      insert into project_templates (id, tenant_id, key, version, display_name, field_schema, lifecycle_schema,
        default_config, default_views, governance_schema, memory_defaults, created_by)
      select gen_random_uuid(), ${tenantId}, 'narrow', 1 + count(*), 'x', '{}', '{}', '{}', '[]', '{}', '{}', ${principalId}
      from project_templates where tenant_id = ${tenantId} and key = 'narrow'
      returning id`);
    await tx.run(sql`
      insert into projects (id, tenant_id, workspace_id, template_id, template_key, template_version, status_key,
        system_status_category, custom_fields, settings, created_by, status)
      select gen_random_uuid(), ${tenantId}, id, ${template?.id}, 'narrow', 1, 'planned', 'planned', '{}', '{}',
        ${principalId}, case when random() < 0.6 then 'archived' else 'active' end
      from unnest(${ids}::uuid[]) id`);
    await tx.run(sql`
      insert into goals (id, tenant_id, workspace_id, title, created_from, path, created_by, owner_id, created_at)
      select id, ${tenantId}::uuid, case when n = 1 then null else (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})] end,
        'x', ${origin}, array[id], ${principalId}::uuid, case when random() < 0.5 then ${principalId}::uuid end,
        now() + case when n = 1 then interval '1 day' else floor(random() * 20) * interval '1 hour' end
      from (select n, gen_random_uuid() as id from generate_series(1, 60) n) made`);
    await tx.run(sql`
      insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin,
        created_by, created_at, owner_id, assignee_id, goal_id, start_date, due_date)
      select gen_random_uuid(), ${tenantId}::uuid, next_task_number(${tenantId}),
        (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})],
        (select id from task_types where tenant_id = ${tenantId} and key = 'task'),
        case when random() < 0.3 then 'red' else 'blue' end, 'todo',
        case when random() < 0.5 then 'active' else 'backlog' end, floor(random() * 4), ${origin},
        ${principalId}::uuid, now() - floor(random() * 200) * interval '1 second',
        case when random() < 0.3 then ${principalId}::uuid end, case when random() < 0.3 then ${principalId}::uuid end,
        case when random() < 0.5 then (select id from goals where workspace_id is null order by created_at desc limit 1) end,
        case when random() < 0.5 then '2026-01-01'::timestamptz + floor(random() * 9) * interval '1 day' end,
        case when random() < 0.5 then '2026-01-11'::timestamptz + floor(random() * 20) * interval '1 day' end
      from generate_series(1, ${tasks}::integer)`);
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`
      with made as (
        insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, expires_at, status, acquired_at)
        select gen_random_uuid(), ${tenantId}::uuid, id, ${sessionId}::uuid, ${principalId}::uuid, 1, now(),
          case when random() < 0.5 then 'released' else 'stale' end, now() - floor(random() * 100) * interval '1 second'
        from tasks where created_by = ${principalId}::uuid
        returning *
      ), begun as (
        insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status, stalled_at,
          started_at)
        select gen_random_uuid(), tenant_id, task_id, id, holder_id, session_id, 1, 1,
          case when random() < 0.5 then 'running' else 'failed' end, case when random() < 0.5 then now() end,
          now() - floor(random() * 100) * interval '1 second'
        from made
        returning *
      )
      insert into artifacts (id, tenant_id, created_by, task_id, run_id, workspace_id, type, name)
      select gen_random_uuid(), tenant_id, principal_id, case when random() < 0.5 then task_id end, id,
        (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})], case when random() < 0.5 then 'report' else 'plan' end, 'x'
      from begun`);
    await tx.run(sql`
      insert into approvals (id, tenant_id, task_id, workspace_id, requested_by_principal_id, assigned_principal_id, gate, created_at)
      select gen_random_uuid(), ${tenantId}::uuid, case when random() < 0.5 then id end,
        (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})], ${principalId}::uuid, ${principalId}::uuid, false,
        now() - floor(random() * 100) * interval '1 second'
      from tasks where created_by = ${principalId}::uuid`);
    await tx.run(sql`
      with made as (
        insert into roles (id, tenant_id, workspace_id, slug, name, created_at)
        select gen_random_uuid(), ${tenantId}::uuid, (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})],
          gen_random_uuid()::text, 'x', now() - floor(random() * 20) * interval '1 second'
        from generate_series(1, 400)
        returning id
      )
      insert into role_assignments (id, tenant_id, principal_id, role_id, workspace_id)
      select gen_random_uuid(), ${tenantId}::uuid, ${principalId}::uuid, id,
        (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})] from made`);
    await tx.run(sql`
      insert into rules (id, tenant_id, workspace_id, key, status, trigger, action, created_by, created_at)
      select gen_random_uuid(), ${tenantId}::uuid, (${ids}::uuid[])[1 + floor(random() * ${ids.length + 1})],
        gen_random_uuid()::text, case when random() < 0.5 then 'archived' else 'disabled' end,
        case when random() < 0.5 then '{"kind": "observation", "type": "x"}'::jsonb
          else '{"kind": "event", "type": "task.completed"}'::jsonb end,
        '{"kind": "ensure_work"}', ${principalId}::uuid, now() - floor(random() * 20) * interval '1 second'
      from generate_series(1, 400)`);
    await tx.run(sql`
      insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
      select made.id, ${tenantId}::uuid, w.id, w.path || made.id, w.type_id, 'w' || made.id, 'x'
      from workspaces w, (select gen_random_uuid() as id from generate_series(1, 300)) made
      where w.id = (${ids}::uuid[])[1]`);
  });
}
