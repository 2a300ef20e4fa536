import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { encodeCursor } from '@baton/kernel/http/paging';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
let person: Actor;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor();
});
after(() => baton.close());

const list = (query: string, by = baton.admin) => by.get(`/tasks${query === '' ? '' : `?${query}`}`);
const titlesOf = async (query: string) =>
  (await done(list(query))).items.map(({ title }: { title: string }) => title) as string[];

/** Every page of a list, one after another. */
async function walk(query: string, between: (page: number) => Promise<unknown> = async () => undefined) {
  const items: any[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < 1000; pages += 1) {
    const next: string = cursor === null ? query : `${query}&cursor=${cursor}`;
    const page = await done(list(next));
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    cursor = page.nextCursor;
    await between(pages);
  }
  throw new Error('the list has no end');
}

describe('GET /tasks', () => {
  test('lists whole records, newest first, 50 to a page', async () => {
    const other = await baton.actor({ tenantId: baton.otherTenantId });
    for (let n = 0; n < 52; n += 1) await done(other.post('/tasks', { title: `${n}` }), 201);
    const page = await done(list('', other));
    assert.equal(page.items.length, 50);
    assert.equal(page.items[0].title, '51');
    const rest = await done(list(`cursor=${page.nextCursor}`, other));
    assert.deepEqual(
      rest.items.map(({ title }: { title: string }) => title),
      ['1', '0'],
    );
    assert.equal(rest.nextCursor, null);
    assert.deepEqual(page.items[0], await done(other.get(`/tasks/${page.items[0].publicId}`)));
  });

  test('finds a status in every type and category that has it, even if more than 50 types do', async () => {
    const lifecycleOf = (category: 'active' | 'blocked') => ({
      statuses: [
        { key: 'shelved', category, displayName: 'Shelved' },
        { key: 'done', category: 'terminal_success' as const, displayName: 'Done' },
      ],
      initialStatus: 'shelved',
      transitions: [],
      completionStatus: 'done',
    });
    const made: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const lifecycle = lifecycleOf(n % 2 === 0 ? 'active' : 'blocked');
      const typeId = await insertTestType(baton, { key: 'shelf', version: n + 1, lifecycle });
      if (n !== 1 && n !== 58) continue;
      made.unshift(`shelf ${n}`);
      await makeTask(baton, { title: `shelf ${n}`, typeId });
      // Whether two types or 59 have the status, the list must be the same.
      assert.deepEqual(await titlesOf('status=shelved'), made);
      assert.deepEqual(await titlesOf('typeKey=shelf'), made);
    }
    assert.deepEqual(await titlesOf('status=shelved&systemStatusCategory=blocked'), ['shelf 1']);
    assert.deepEqual(await titlesOf('status=shelved&systemStatusCategory=backlog'), []);
    assert.deepEqual(await titlesOf('status=shelved&typeKey=shelf&limit=1'), ['shelf 58']);
    assert.deepEqual(await titlesOf('status=shelved&typeKey=task'), []);
  });

  test('filters by status, category, type, priority, owner and assignee, all together', async () => {
    await insertTestType(baton, { key: 'filtered' });
    const owner = await baton.actor();
    const common = { typeKey: 'filtered', ownerId: owner.principalId };
    await makeTask(baton, { ...common, title: 'a', priority: 'high', assigneeId: person.principalId });
    await makeTask(baton, { ...common, title: 'b', priority: 'low', status: 'backlog' });
    const c = await makeTask(baton, { ...common, title: 'c' });
    await done(baton.admin.post(`/tasks/${c.id}:complete`, {}, { 'if-match': 'task-1' }));
    const mine = `ownerId=${owner.principalId}`;
    assert.deepEqual(await titlesOf(mine), ['c', 'b', 'a']);
    assert.deepEqual(await titlesOf(`${mine}&status=todo`), ['a']);
    assert.deepEqual(await titlesOf(`${mine}&systemStatusCategory=terminal_success`), ['c']);
    assert.deepEqual(await titlesOf(`${mine}&priority=low`), ['b']);
    assert.deepEqual(await titlesOf(`${mine}&assigneeId=${person.principalId}`), ['a']);
    assert.deepEqual(await titlesOf('typeKey=filtered&status=backlog'), ['b']);
    assert.deepEqual(await titlesOf(`${mine}&priority=low&status=todo`), []);
    for (const nothing of ['status=unheard-of', 'typeKey=unheard-of', `assigneeId=${newId()}`])
      assert.deepEqual(await titlesOf(`${mine}&${nothing}`), []);
    assert.deepEqual(await titlesOf(`ownerId=${newId()}`), []);
  });

  test('filters by dates, both ends included, and excludes undated tasks', async () => {
    const owner = await baton.actor();
    const make = (title: string, more: object) =>
      makeTask(baton, { title, ownerId: owner.principalId, ...more });
    await make('early', { startDate: '2026-01-01', dueDate: '2026-01-10' });
    await make('late', { startDate: '2026-02-01', dueDate: '2026-02-10' });
    await make('undated', {});
    const mine = `ownerId=${owner.principalId}`;
    assert.deepEqual(await titlesOf(`${mine}&startFrom=2026-01-01`), ['late', 'early']);
    assert.deepEqual(await titlesOf(`${mine}&startTo=2026-01-01T00:00:00Z`), ['early']);
    assert.deepEqual(await titlesOf(`${mine}&startTo=2025-12-31T23:59:59.999Z`), []);
    assert.deepEqual(await titlesOf(`${mine}&dueFrom=2026-01-11&dueTo=2026-02-10`), ['late']);
    assert.deepEqual(await titlesOf(`${mine}&dueFrom=2026-02-10T01:00:00%2B01:00`), ['late']);
  });

  test('q finds words in the title, the description or the public id, all of them and in any case', async () => {
    const task = await makeTask(baton, {
      title: 'Flaky LOGIN test',
      description: 'fails on Mondays: 100%_sure\\',
    });
    const found = async (q: string) => (await titlesOf(`q=${encodeURIComponent(q)}`)).includes(task.title);
    for (const q of ['login', 'FLAKY monday', task.publicId.toLowerCase(), '100%_', 'sure\\', '  login  '])
      assert.equal(await found(q), true, q);
    for (const q of ['login absent', '100_%', '%zz%', '_lak', 'sure\\\\', "'; drop table tasks; --"])
      assert.equal(await found(q), false, q);
    await refused(list(`q=${'x'.repeat(201)}`), 422, 'invalid_search');
    await refused(list(`q=${Array.from({ length: 11 }, () => 'x').join('+')}`), 422, 'invalid_search');
    assert.equal((await list(`q=${Array.from({ length: 10 }, () => 'x').join('+')}`)).status, 200);
    assert.ok((await titlesOf('q=')).length > 0);
  });

  test('q finds the same tasks as a plain comparison, in any alphabet and length', async () => {
    const texts = [
      'ΟΔΟΣ Straße',
      'İstanbul ŁÓDŹ',
      '漢字 かな',
      'a\tb',
      `${'long '.repeat(4000)}needle`,
      '😀😀 emoji',
      '\\%_',
    ];
    for (const title of texts.filter(({ length }) => length < 500)) await makeTask(baton, { title });
    await makeTask(baton, { title: 'long text', description: texts[4] });
    const changed = await makeTask(baton, { title: 'before' });
    await done(baton.admin.patch(`/tasks/${changed.id}`, { title: 'afterwards' }, { 'if-match': 'task-1' }));
    const stored = await baton.pool.rows<{ title: string; all: string }>({
      text: `select title, title || e'\n' || description || e'\n' || public_id as all from tasks where tenant_id = $1`,
      values: [baton.tenantId],
    });
    const searches = [
      'οδος',
      'ΔΟΣ',
      'STRASSE',
      'straße',
      'istanbul',
      'łódź',
      '漢',
      '字 か',
      'ab',
      'b',
      'needle',
      '😀',
      '😀😀',
      'wards',
      'before',
      '\\%',
      '_',
    ];
    for (const q of searches) {
      const expected = new Set<string>();
      for (const { title, all } of stored) {
        const patterns = q.split(/\s+/).map((term) => `%${term.replaceAll(/[\\%_]/g, '\\$&')}%`);
        const row = await baton.pool.row<{ is: boolean }>({
          text: 'select $1::text ilike all ($2::text[]) as is',
          values: [all, patterns],
        });
        if (row?.is) expected.add(title);
      }
      const found = await titlesOf(`q=${encodeURIComponent(q)}&limit=200`);
      assert.deepEqual(new Set(found), expected, q);
    }
  });

  test('sorts by startDate or dueDate: nearest first, undated last, tie by id', async () => {
    const owner = await baton.actor();
    const make = (title: string, more: object) =>
      makeTask(baton, { title, ownerId: owner.principalId, ...more });
    await make('none 1', {});
    await make('b', { startDate: '2026-01-02', dueDate: '2026-03-01' });
    await make('a', { startDate: '2026-01-01', dueDate: '2026-03-02' });
    await make('none 2', {});
    await make('b too', { startDate: '2026-01-02' });
    const mine = `ownerId=${owner.principalId}`;
    assert.deepEqual(await titlesOf(`${mine}&sort=startDate`), ['a', 'b', 'b too', 'none 1', 'none 2']);
    assert.deepEqual(await titlesOf(`${mine}&sort=dueDate`), ['b', 'a', 'none 1', 'none 2', 'b too']);
    for (const limit of [1, 2, 3]) {
      const walked = await walk(`${mine}&sort=startDate&limit=${limit}`);
      assert.deepEqual(
        walked.map(({ title }) => title),
        ['a', 'b', 'b too', 'none 1', 'none 2'],
      );
    }
  });

  test('refuses unknown values, in the documented order', async () => {
    const long = `status=${'x'.repeat(65)}`;
    const wrong = [
      'systemStatusCategory=odd',
      'priority=urgent',
      `q=${'x'.repeat(201)}`,
      'sort=createdAt',
      `workspaceId=${newId()}`,
      'cursor=x',
    ];
    const codes = [
      'invalid_status_category',
      'invalid_priority',
      'invalid_search',
      'invalid_sort',
      'not_found',
      'invalid_cursor',
    ];
    await refused(list([long, ...wrong].join('&')), 422, 'invalid_status');
    for (const [index, code] of codes.entries())
      await refused(list(wrong.slice(index).join('&')), code === 'not_found' ? 404 : 422, code);
    for (const name of ['workspaceId', 'projectId', 'goalId'])
      await refused(
        list(`${name}=${newId()}&includeDescendants=true&includeSubprojects=false`),
        404,
        'not_found',
      );
    await refused(list('ownerId=me'), 400, 'invalid_request');
    await refused(list('startFrom=soon'), 400, 'invalid_request');
    await refused(list('limit=0'), 422, 'invalid_limit');
    await refused(list('limit=201'), 422, 'invalid_limit');
    await refused(list('limit=many'), 400, 'invalid_request');
  });

  test('a cursor is bound to its ordering', async () => {
    await makeTask(baton);
    await makeTask(baton);
    const { nextCursor } = await done(list('limit=1'));
    await refused(list(`sort=startDate&cursor=${nextCursor}`), 422, 'invalid_cursor');
    const dated = await done(list('limit=1&sort=startDate'));
    await refused(list(`cursor=${dated.nextCursor}`), 422, 'invalid_cursor');
    await refused(list(`sort=dueDate&cursor=${dated.nextCursor}`), 422, 'invalid_cursor');
    const forged = [
      encodeCursor('claims', ['2026-01-01T00:00:00.000Z', newId()]),
      encodeCursor('tasks:createdAt', ['2026-01-01T00:00:00.000Z', 'x']),
      encodeCursor('tasks:createdAt', [null, newId()]),
      'AAAA',
      '%00',
    ];
    for (const cursor of forged) assert.equal((await list(`cursor=${cursor}`)).status, 422);
  });

  test('paging with any page size neither misses an existing task nor repeats one, while others insert', async () => {
    const owner = await baton.actor();
    const mine = `ownerId=${owner.principalId}`;
    const dates = fc.option(fc.integer({ min: 0, max: 3 }), { nil: null });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ start: dates, due: dates }), { minLength: 1, maxLength: 4 }),
        fc.constantFrom('', '&sort=startDate', '&sort=dueDate'),
        fc.integer({ min: 1, max: 7 }),
        async (added, sort, limit) => {
          const day = (n: number | null) => (n === null ? null : `2026-01-0${n + 1}`);
          const insert = () =>
            Promise.all(
              added.map(({ start, due }) =>
                makeTask(baton, {
                  ownerId: owner.principalId,
                  startDate: day(start),
                  // A task never ends before it starts.
                  dueDate: day(start === null || due === null ? due : Math.max(start, due)),
                }),
              ),
            );
          await insert();
          const existing = (await walk(mine)).map(({ id }) => id);
          // Inserts stop after a few pages: new undated tasks sort last, so endless inserts would make the list
          // endless.
          const walked = await walk(`${mine}${sort}&limit=${limit}`, async (page) => {
            if (page < 3) await insert();
          });
          const ids = walked.map(({ id }) => id);
          assert.equal(new Set(ids).size, ids.length, 'repeats nothing');
          for (const id of existing) assert.ok(ids.includes(id), 'misses nothing');
        },
      ),
      { numRuns: byDepth(4, 8) },
    );
  });
});
