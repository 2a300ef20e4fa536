import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeProject } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { blockOf, insertTestView } from '../../testing/packages/views.ts';
import {
  humanStep,
  makeProcessAgent,
  publishProcess,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { publishAgent } from '../../testing/registry/agents.ts';
import { makeConnection } from '../../testing/registry/connections.ts';
import { invoke, makeCallable } from '../../testing/results/invocations.ts';
import { fieldsBySource } from './source-fields.sql.ts';
import { sources } from './sources.ts';

let baton: TestCoordination;
let admin: Actor;
before(async () => {
  baton = await startCoordination();
  admin = baton.admin;
});
after(() => baton.close());

const publish = (...blocks: object[]) => insertTestView(baton, admin, blocks);
const query = (key: string, body: object = {}, by = admin) =>
  by.post(`/views/${key}:query`, { block: 0, ...body });
const itemsOf = async (key: string, body: object = {}, by = admin) =>
  (await done(query(key, body, by))).items;
const columns = (...names: string[]) => names.map((field) => ({ field }));
/** The owner distinguishes the tasks of the tests in this file. */
const ownedBy = (value: string) => ({ field: 'ownerId', op: 'eq', value });

type SourceOfRows = keyof typeof fieldsBySource;
/** For each source, a function that creates a record and returns its id and the path to read it. */
const made: Record<SourceOfRows, () => Promise<{ id: string; path: string }>> = {
  tasks: async () => {
    const { id } = await makeTask(baton, {
      priority: 'high',
      dueDate: '2026-05-01',
      ownerId: admin.principalId,
    });
    return { id, path: `/tasks/${id}` };
  },
  runs: async () => {
    const { run } = await makeRun(baton, { actor: admin, sessionId: await openSession(admin) });
    return { id: run.id, path: `/runs/${run.id}` };
  },
  claims: async () => {
    const { claim } = await makeRun(baton, { actor: admin, sessionId: await openSession(admin) });
    return { id: claim.id, path: `/claims/${claim.id}` };
  },
  approvals: async () => {
    const { id: task } = await makeTask(baton);
    const { id } = await done(
      admin.post('/approvals', { task, assignedPrincipalId: admin.principalId }),
      201,
    );
    return { id, path: `/approvals/${id}` };
  },
  projects: async () => {
    const { id } = await makeProject(baton);
    return { id, path: `/projects/${id}` };
  },
  goals: async () => {
    const { id } = await done(admin.post('/goals', { title: 'A goal' }), 201);
    return { id, path: `/goals/${id}` };
  },
  processes: async () => {
    const agent = await makeProcessAgent(baton);
    const process = await publishProcess(admin, specOf(agent.key, [humanStep('review')]));
    const { id } = await startProcessInstance(admin, process);
    return { id, path: `/process-instances/${id}` };
  },
  agents: async () => {
    const { id, key } = await publishAgent(admin);
    return { id, path: `/agents/${key}` };
  },
  connections: async () => {
    const { id, key } = await makeConnection(admin);
    return { id, path: `/connections/${key}` };
  },
  invocations: async () => {
    const { id } = await done(invoke(admin, await makeCallable(admin)), 201);
    return { id, path: `/skill-invocations/${id}` };
  },
};

describe('POST /views/{key}:query shows the fields of the records of each source:', () => {
  for (const [source, make] of Object.entries(made))
    test(source, async () => {
      const { id, path } = await make();
      await make();
      const names = Object.keys(fieldsBySource[source as SourceOfRows]);
      const filters = [{ field: 'id', op: 'eq' }];
      const parts = [names.slice(0, 15), names.slice(15)].filter(({ length }) => length > 0);
      const key = await publish(
        ...parts.map((part) => blockOf({ source, columns: columns(...part), filters })),
      );
      const shown = {};
      for (const [block] of parts.entries()) {
        const answer = await done(query(key, { block, filter: [{ field: 'id', value: id }] }));
        assert.equal(answer.items.length, 1);
        assert.equal(answer.nextCursor, null);
        assert.deepEqual([answer.view, answer.version, answer.block, answer.source], [key, 1, block, source]);
        Object.assign(shown, answer.items[0]);
      }
      const record = await done(admin.get(path));
      const value = (name: string) => name.split('.').reduce((at: any, part) => at[part], record);
      assert.deepEqual(shown, Object.fromEntries(names.map((name) => [name, value(name)])));
      const two = await done(query(key, { limit: 200 }));
      assert.ok(two.items.length >= 2);
      const right = sources[source as SourceOfRows].right;
      const other = await baton.actor({ permissions: ['org.read'] });
      assert.deepEqual(await refused(query(key, {}, other), 403, 'permission_denied'), { required: [right] });
      const reader = await baton.actor({ permissions: [right] });
      assert.equal((await itemsOf(key, { limit: 200 }, reader)).length, two.items.length);
      const foreign = await insertTestView(baton, baton.otherAdmin, [
        blockOf({ source, columns: columns('id') }),
      ]);
      assert.deepEqual(await itemsOf(foreign, {}, baton.otherAdmin), []);
      await refused(query(key, {}, baton.otherAdmin), 404, 'not_found');
    });
});

describe('filters', () => {
  let owner: Actor;
  let tasks: any[];
  before(async () => {
    owner = await baton.actor();
    const make = (title: string, more: object) =>
      makeTask(baton, { title, ownerId: owner.principalId, ...more });
    tasks = [
      await make('alpha one', { priority: 'critical', dueDate: '2026-03-01' }),
      await make('alpha two', { priority: 'low', status: 'backlog' }),
      await make('beta', { priority: 'low', dueDate: '2026-04-01', assigneeId: owner.principalId }),
    ];
  });

  const shows = async (filters: object[], filter: object[], titles: string[], more: object = {}) => {
    const key = await publish(blockOf({ filters: [ownedBy(owner.principalId), ...filters], ...more }));
    const items = await itemsOf(key, { filter });
    assert.deepEqual(items.map(({ title }: any) => title).sort(), titles);
  };

  test('compare by eq, in, gte, lte and prefix', async () => {
    const by = (field: string, op: string, value: unknown, titles: string[]) =>
      shows([{ field, op }], [{ field, op, value }], titles);
    await by('title', 'eq', 'beta', ['beta']);
    await by('title', 'prefix', 'alpha', ['alpha one', 'alpha two']);
    await by('title', 'prefix', '%', []);
    await by('title', 'in', ['beta', 'beta', 'alpha two'], ['alpha two', 'beta']);
    await by('priority', 'eq', 'low', ['alpha two', 'beta']);
    await by(
      'priority',
      'in',
      ['critical', 'low', 'low', 'unheard of', 'odd'],
      ['alpha one', 'alpha two', 'beta'],
    );
    await by('priority', 'eq', 'unheard of', []);
    await by('status', 'eq', 'backlog', ['alpha two']);
    await by('systemStatusCategory', 'in', ['active'], ['alpha one', 'beta']);
    await by('typeKey', 'eq', 'task', ['alpha one', 'alpha two', 'beta']);
    await by('typeKey', 'in', ['absent'], []);
    await by('dueDate', 'gte', '2026-03-31T23:00:00-01:00', ['beta']);
    await by('dueDate', 'lte', '2026-03-01', ['alpha one']);
    await by('dueDate', 'eq', null, ['alpha two']);
    await by('assigneeId', 'eq', null, ['alpha one', 'alpha two']);
    await by('assigneeId', 'in', [owner.principalId.toUpperCase(), owner.principalId], ['beta']);
    await by('version', 'gte', 2, []);
    await by('version', 'lte', 1.5, ['alpha one', 'alpha two', 'beta']);
    await by(
      'id',
      'in',
      tasks.map(({ id }) => id),
      ['alpha one', 'alpha two', 'beta'],
    );
  });

  test('of a boolean', async () => {
    const key = await publish(
      blockOf({
        source: 'approvals',
        columns: columns('id', 'gate'),
        filters: [{ field: 'gate', op: 'eq' }],
      }),
    );
    const items = await itemsOf(key, { filter: [{ field: 'gate', value: true }] });
    assert.ok(items.every(({ gate }: any) => gate));
  });

  test('several apply together, those of the block always', async () => {
    const low = { field: 'priority', op: 'eq', value: 'low' };
    await shows([low], [], ['alpha two', 'beta']);
    await shows(
      [low, { field: 'title', op: 'prefix' }],
      [{ field: 'title', op: 'prefix', value: 'a' }],
      ['alpha two'],
    );
    await shows([low, { field: 'priority', op: 'eq' }], [{ field: 'priority', value: 'critical' }], []);
  });

  test('use the values of parameters, sent or default', async () => {
    const filters = [
      ownedBy(owner.principalId),
      { field: 'title', op: 'prefix', value: { param: 'start' } },
      { field: 'priority', op: 'in', value: { param: 'level' } },
      { field: 'version', op: 'lte', value: { param: 'most' } },
    ];
    const params = [
      { name: 'start', type: 'text' },
      { name: 'level', type: 'text', default: 'low' },
      { name: 'most', type: 'number', default: 9 },
    ];
    const key = await publish(blockOf({ filters, params }));
    const titles = async (given: object) =>
      (await itemsOf(key, { params: given })).map(({ title }: any) => title).sort();
    assert.deepEqual(await titles({ start: 'alpha' }), ['alpha two']);
    assert.deepEqual(await titles({ start: 'alpha', level: 'critical' }), ['alpha one']);
    assert.deepEqual(await titles({ start: null, level: null }), ['alpha one', 'alpha two', 'beta']);
    assert.deepEqual(await titles({ start: '', most: 0 }), []);
    const refuse = async (given: object, path: string, code: string) =>
      assert.deepEqual(await refused(query(key, { params: given }), 422, 'validation_error'), {
        errors: [{ path, code }],
      });
    await refuse({}, '/params/start', 'missing_param');
    await refuse({ start: 1 }, '/params/start', 'invalid_value');
    await refuse({ start: 'a', most: 'x' }, '/params/most', 'invalid_value');
    await refuse({ start: 'a', other: 1 }, '/params/other', 'unknown_param');
  });

  test('of another type are refused', async () => {
    const by = async (field: string, op: string, value: unknown) => {
      const key = await publish(blockOf({ filters: [{ field, op }] }));
      const errors = [{ path: '/filter/0/value', code: 'invalid_value' }];
      assert.deepEqual(
        await refused(query(key, { filter: [{ field, op, value }] }), 422, 'validation_error'),
        { errors },
      );
    };
    await by('title', 'eq', 1);
    await by('title', 'eq', ['a']);
    await by('title', 'prefix', null);
    await by('title', 'in', 'a');
    await by('title', 'in', ['a', null]);
    await by('version', 'eq', '1');
    await by('createdAt', 'gte', 'yesterday');
    await by('createdAt', 'gte', 5);
    await by('ownerId', 'eq', 'nobody');
    await by('priority', 'eq', 2);
  });
});

describe('POST /views/{key}:query refuses', () => {
  test('filters and sorts that the block does not declare', async () => {
    const filters = [
      { field: 'status', op: 'eq' },
      { field: 'priority', op: 'eq', value: 'low' },
    ];
    const sorts = [{ field: 'title', direction: 'asc' }];
    const key = await publish(blockOf({ filters, sorts }));
    const declared = [{ field: 'status', op: 'eq' }];
    for (const [field, op] of [
      ['title', 'eq'],
      ['status', 'in'],
      ['priority', 'eq'],
      ['__proto__', 'eq'],
    ])
      assert.deepEqual(
        await refused(query(key, { filter: [{ field, op, value: 'x' }] }), 422, 'undeclared_filter'),
        { field, op, declared },
      );
    for (const sort of [{ field: 'title', direction: 'desc' }, { field: 'status' }]) {
      const details = await refused(query(key, { sort: [sort] }), 422, 'undeclared_sort');
      assert.deepEqual(details, { ...sort, declared: sorts });
    }
    const both = { filter: [{ field: 'x', value: 1 }], sort: [{ field: 'x' }] };
    await refused(query(key, both), 422, 'undeclared_filter');
  });

  test('a query without the workspace that a block requires', async () => {
    const filters = [{ field: 'workspaceId', op: 'eq', value: { param: 'place' } }];
    const params = [{ name: 'place', type: 'workspace' }];
    const key = await publish(blockOf({ filters, params }));
    await refused(query(key), 422, 'workspace_required');
    const [workspace, below] = await treeOf();
    const task = await makeTask(baton, { workspaceId: workspace.id });
    await makeTask(baton, { workspaceId: below.id });
    assert.deepEqual(
      (await itemsOf(key, { workspaceId: workspace.id })).map(({ id }: any) => id),
      [task.id],
    );
    const details = await refused(
      query(key, { workspaceId: workspace.id, params: { place: below.id } }),
      422,
      'validation_error',
    );
    assert.deepEqual(details, { errors: [{ path: '/params/place', code: 'unknown_param' }] });
  });

  test('knowledge, which no view reads yet', async () => {
    const key = await publish(blockOf({ source: 'knowledge' }));
    assert.deepEqual(await refused(query(key), 501, 'not_implemented'), { source: 'knowledge' });
  });

  test('a missing view, block or workspace, and a malformed request', async () => {
    const key = await publish(blockOf());
    assert.deepEqual(await refused(query('absent'), 404, 'not_found'), { view: 'absent' });
    assert.deepEqual(await refused(query(key, { block: 1 }), 404, 'not_found'), { view: key, block: 1 });
    const workspaceId = newId();
    assert.deepEqual(await refused(query(key, { workspaceId }), 404, 'not_found'), { workspaceId });
    const one = { field: 'a', value: 1 };
    for (const body of [
      { block: 50 },
      { block: -1 },
      { limit: 0 },
      { limit: 201 },
      { other: 1 },
      { filter: Array(21).fill(one) },
      { filter: [{ field: 'a', op: 'like', value: 1 }] },
      { filter: [{ field: 'a', op: 'in', value: Array(101).fill(1) }] },
      { filter: [{ field: 'a', value: 'x'.repeat(501) }] },
      { sort: Array(6).fill({ field: 'a' }) },
      { params: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`p${n}`, 1])) },
    ])
      await refused(query(key, body), 400, 'invalid_request');
  });

  test('cursors of another order or another block, and invalid cursors', async () => {
    const owner = (await baton.actor()).principalId;
    for (let n = 0; n < 3; n += 1) await makeTask(baton, { ownerId: owner });
    const sorts = [
      { field: 'title', direction: 'asc' },
      { field: 'priority', direction: 'asc' },
    ];
    const block = blockOf({ filters: [ownedBy(owner)], sorts });
    const key = await publish(block, block);
    const { nextCursor: cursor } = await done(query(key, { limit: 1 }));
    await done(query(key, { cursor }));
    const [name, ...values] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const forged = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    for (const body of [
      { cursor, block: 1 },
      { cursor, sort: [sorts[1]] },
      { cursor: 'x' },
      { cursor: forged(name) },
      { cursor: forged(name, 5, values[1]) },
      { cursor: forged(name, 'a\u0000', values[1]) },
      { cursor: forged(name, values[0], 'no uuid') },
      { cursor: Buffer.from('{}').toString('base64url') },
    ])
      await refused(query(key, body), 422, 'invalid_cursor');
    const byPriority = await done(query(key, { limit: 1, sort: [sorts[1]] }));
    const [other, , id] = JSON.parse(Buffer.from(byPriority.nextCursor, 'base64url').toString());
    await refused(query(key, { sort: [sorts[1]], cursor: forged(other, 99_999, id) }), 422, 'invalid_cursor');
    await refused(query(key, { sort: [sorts[1]], cursor: forged(other, 1.5, id) }), 422, 'invalid_cursor');
  });
});

/** A workspace and its child. */
async function treeOf() {
  const workspace = await makeWorkspace(baton);
  return [workspace, await makeWorkspace(baton, { parentId: workspace.id })];
}

describe('pages', () => {
  let owner: string;
  before(async () => {
    owner = (await baton.actor()).principalId;
    await baton.pool.run(sql`
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by, owner_id,
        created_at, due_date, workspace_id)
      select gen_random_uuid(), ${baton.tenantId}, next_task_number(${baton.tenantId}),
        (select id from task_types where tenant_id = ${baton.tenantId} and key = 'task'), 'title ' || n % 4, 'todo', 'active',
        n % 3, '{"kind":"human","evidence":[]}', ${owner}, ${owner}, now() - (n / 3) * interval '1 minute',
        case when n % 5 > 0 then '2026-01-01'::timestamptz + (n % 7) * interval '1 day' end, null
      from generate_series(1, 60) n`);
  });

  test('have each row once, in the requested order, with missing values last', async () => {
    const directions = ['asc', 'desc'] as const;
    const fields = ['createdAt', 'dueDate', 'title', 'priority', 'version'];
    const sorts = fields.flatMap((field) => directions.map((direction) => ({ field, direction })));
    const shown = columns('id', ...fields);
    const orders = [
      [],
      ...sorts.map((sort) => [sort]),
      [sorts[3], sorts[4]],
      [sorts[6], sorts[2], sorts[5]],
      [sorts[8], sorts[7], sorts[2], sorts[1]],
    ];
    for (const sort of orders) {
      const declared = sort.length === 0 ? [] : sort;
      for (const filters of [[ownedBy(owner)], [{ field: 'ownerId', op: 'in', value: [owner, newId()] }]]) {
        const key = await publish(blockOf({ columns: shown, filters, sorts: declared }));
        const whole = await itemsOf(key, { sort, limit: 200 });
        assert.equal(whole.length, 60);
        assertSorted(whole, sort as any);
        const paged: any[] = [];
        let cursor: string | null = null;
        do {
          const page: any = await done(query(key, { sort, limit: 7, cursor }));
          assert.ok(page.items.length <= 7);
          paged.push(...page.items);
          cursor = page.nextCursor;
        } while (cursor !== null);
        assert.deepEqual(paged, whole);
      }
    }
  });

  const places = ['critical', 'high', 'medium', 'low'];
  function assertSorted(items: any[], sorts: { field: string; direction: string }[]) {
    const keys = sorts.length > 0 ? sorts : [{ field: 'createdAt', direction: 'desc' }];
    for (const [n, item] of items.entries()) {
      if (n === 0) continue;
      const before = items[n - 1];
      const order = [...keys, { field: 'id', direction: keys.at(-1)?.direction as string }];
      const differing = order.find(({ field }) => item[field] !== before[field]) as {
        field: string;
        direction: string;
      };
      const [a, b] = [before, item].map((one) => {
        const value = one[differing.field];
        return differing.field === 'priority' ? places.indexOf(value) : value;
      });
      if (b === null) continue;
      assert.ok(
        a !== null && (differing.direction === 'asc' ? a < b : a > b),
        JSON.stringify([keys, before, item]),
      );
    }
  }

  test('of groups, with count, sum, avg, min and max', async () => {
    const of = (more: object) => publish(blockOf({ filters: [ownedBy(owner)], ...more }));
    const grouped = async (more: object, body: object = {}) => itemsOf(await of(more), body);
    const byTitle = { groupBy: 'title', columns: columns('title', 'value') };
    assert.deepEqual(
      await grouped(byTitle),
      [0, 1, 2, 3].map((n) => ({ title: `title ${n}`, value: 15 })),
    );
    assert.deepEqual(await grouped({ columns: columns('value'), aggregate: { fn: 'count' } }), [
      { value: 60 },
    ]);
    assert.deepEqual(
      await grouped({ columns: columns('value'), aggregate: { fn: 'count', field: 'dueDate' } }),
      [{ value: 48 }],
    );
    const none = { filters: [ownedBy(newId())], columns: columns('value') };
    assert.deepEqual(await grouped({ ...none, aggregate: { fn: 'count' } }), [{ value: 0 }]);
    assert.deepEqual(await grouped({ ...none, aggregate: { fn: 'max', field: 'version' } }), [
      { value: null },
    ]);
    assert.deepEqual(await grouped({ ...none, groupBy: 'title', columns: columns('title') }), []);
    for (const [fn, value] of [
      ['sum', 60],
      ['avg', 1],
      ['min', 1],
      ['max', 1],
    ])
      assert.deepEqual(await grouped({ columns: columns('value'), aggregate: { fn, field: 'version' } }), [
        { value },
      ]);
    const key = await of({ columns: columns('value'), aggregate: { fn: 'max', field: 'dueDate' } });
    const latest = await done(query(key));
    assert.deepEqual(latest.columns, [{ field: 'value', title: null, type: 'time' }]);
    assert.deepEqual(latest.items, [{ value: '2026-01-07T00:00:00.000Z' }]);
    const byPriority = {
      groupBy: 'priority',
      columns: [{ field: 'priority', title: 'How urgent' }, { field: 'value' }],
    };
    const answer = await done(query(await of(byPriority)));
    assert.deepEqual(answer.columns, [
      { field: 'priority', title: 'How urgent', type: 'text' },
      { field: 'value', title: null, type: 'number' },
    ]);
    assert.deepEqual(
      answer.items,
      ['critical', 'high', 'medium'].map((priority) => ({ priority, value: 20 })),
    );
  });

  test('of groups follow each other, also sorted by value', async () => {
    for (const sorts of [
      [{ field: 'dueDate', direction: 'desc' }],
      [{ field: 'value', direction: 'desc' }],
      [
        { field: 'value', direction: 'asc' },
        { field: 'dueDate', direction: 'asc' },
      ],
    ]) {
      const block = {
        groupBy: 'dueDate',
        columns: columns('dueDate', 'value'),
        sorts,
        aggregate: { fn: 'avg', field: 'claimEpoch' },
      };
      for (const aggregate of [block.aggregate, { fn: 'count' }, { fn: 'min', field: 'createdAt' }]) {
        const key = await publish(blockOf({ ...block, aggregate, filters: [ownedBy(owner)] }));
        const whole = await itemsOf(key, { sort: sorts });
        assert.equal(whole.length, 8);
        const paged: any[] = [];
        let cursor: string | null = null;
        do {
          const page: any = await done(query(key, { sort: sorts, limit: 3, cursor }));
          paged.push(...page.items);
          cursor = page.nextCursor;
        } while (cursor !== null);
        assert.deepEqual(paged, whole);
      }
    }
  });
});

describe('workspaces', () => {
  test('a query of one shows its rows and those of its descendants', async () => {
    const [top, below] = await treeOf();
    const ids = [];
    for (const workspaceId of [top.id, below.id]) ids.push((await makeTask(baton, { workspaceId })).id);
    await makeTask(baton, { workspaceId: (await makeWorkspace(baton)).id });
    const block = blockOf({ filters: [{ field: 'priority', op: 'eq' }] });
    const key = await publish(block, blockOf({ source: 'connections', columns: columns('id') }));
    const shown = async (body: object) => (await itemsOf(key, body)).map(({ id }: any) => id).sort();
    assert.deepEqual(await shown({ workspaceId: top.id }), ids.toSorted());
    assert.deepEqual(await shown({ workspaceId: below.id }), [ids[1]]);
    const medium = [{ field: 'priority', value: 'medium' }];
    assert.deepEqual(await shown({ workspaceId: top.id, filter: medium }), ids.toSorted());
    assert.ok(
      (await shown({ block: 1, workspaceId: top.id })).length > 0,
      'connections belong to the whole tenant',
    );
  });

  test('callers with partial visibility get the visible rows, and no information about others', async () => {
    const { person, mine, other } = await makeNarrowPerson(baton);
    const worker = { actor: admin, sessionId: await openSession(admin) };
    const inEach = async (workspaceId: string | null) => {
      const place = workspaceId === null ? {} : { workspaceId };
      const { task, run, claim } = await makeRun(baton, worker, { task: place });
      const approval = await done(
        admin.post('/approvals', { task: task.id, assignedPrincipalId: admin.principalId }),
        201,
      );
      const alone = await done(
        admin.post('/approvals', { ...place, assignedPrincipalId: admin.principalId }),
        201,
      );
      const goal = await done(admin.post('/goals', { title: 'g', ...place }), 201);
      const call = await done(invoke(admin, await makeCallable(admin), { taskId: task.id }), 201);
      return {
        tasks: [task.id],
        runs: [run.id],
        claims: [claim.id],
        approvals: [approval.id, alone.id],
        goals: [goal.id],
        invocations: [call.id],
      };
    };
    const [seen, unseen, free] = [await inEach(mine.id), await inEach(other.id), await inEach(null)];
    const project = await makeProject(baton, { workspaceId: mine.id });
    await makeProject(baton, { workspaceId: other.id });
    for (const [source, ids] of Object.entries(seen) as [keyof typeof seen, string[]][]) {
      const counting = blockOf({ source, columns: columns('value'), aggregate: { fn: 'count' } });
      const byId = { filters: [{ field: 'id', op: 'in' }] };
      const key = await publish(blockOf({ source, columns: columns('id'), ...byId }), counting);
      const shown = (await itemsOf(key, { limit: 200 }, person)).map(({ id }: any) => id);
      for (const id of [...ids, ...free[source]]) assert.ok(shown.includes(id), source);
      for (const id of unseen[source]) assert.ok(!shown.includes(id), source);
      const named = { filter: [{ field: 'id', op: 'in', value: [...ids, ...unseen[source]] }] };
      assert.deepEqual((await itemsOf(key, named, person)).map(({ id }: any) => id).sort(), ids.toSorted());
      assert.deepEqual(await itemsOf(key, { block: 1 }, person), [{ value: shown.length }], source);
      const here = (await itemsOf(key, { workspaceId: mine.id }, person)).map(({ id }: any) => id);
      assert.deepEqual(here.sort(), ids.toSorted());
      await refused(query(key, { workspaceId: other.id }, person), 404, 'not_found');
      const wide = (await itemsOf(key, { workspaceId: other.id })).map(({ id }: any) => id);
      assert.deepEqual(wide.sort(), unseen[source].toSorted(), source);
    }
    const projects = await publish(blockOf({ source: 'projects', columns: columns('id') }));
    assert.deepEqual(await itemsOf(projects, {}, person), [{ id: project.id }]);
  });
});
