import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { insertTestType } from '../../testing/task-type.ts';
import { type Lifecycle, statusCategories } from './lifecycle.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const keys = ['a', 'b', 'c', 'd', 'e', 'f'];

/** Any lifecycle that the contract allows: one initial status, edges anywhere, one completion status. */
const lifecycles: fc.Arbitrary<Lifecycle> = fc
  .record({
    categories: fc.array(fc.constantFrom(...statusCategories), { minLength: 6, maxLength: 6 }),
    edges: fc.array(fc.tuple(fc.constantFrom(...keys), fc.constantFrom(...keys)), { maxLength: 20 }),
  })
  .map(({ categories, edges }) => ({
    statuses: keys.map((key, index) => ({
      key,
      // There is always a way to start and a way to succeed.
      category: index === 0 ? 'active' : index === 5 ? 'terminal_success' : (categories[index] ?? 'active'),
      displayName: key.toUpperCase(),
    })),
    initialStatus: 'a',
    transitions: keys.map((from) => ({
      from,
      to: [...new Set(edges.filter(([start]) => start === from).map(([, to]) => to))],
    })),
    completionStatus: 'f',
  }));

test('in any lifecycle a task moves along declared edges only, and to success by :complete only', async () => {
  let version = 0;
  await fc.assert(
    fc.asyncProperty(
      lifecycles,
      fc.array(fc.constantFrom(...keys, 'complete', 'unheard-of'), { minLength: 1, maxLength: 15 }),
      async (lifecycle, moves) => {
        version += 1;
        await insertTestType(baton, { key: 'any', version, lifecycle });
        let task = await makeTask(baton, { typeKey: 'any' });
        const categoryOf = (key: string) => lifecycle.statuses.find((status) => status.key === key)?.category;
        for (const move of moves) {
          const from: string = task.status;
          const allowed = (lifecycle.transitions.find((edge) => edge.from === from)?.to ?? []).filter(
            (to) => to !== from,
          );
          const { targets } = await done(baton.admin.get(`/tasks/${task.id}/transitions`));
          const reachable = allowed.filter((to) => to === 'f' || categoryOf(to) !== 'terminal_success');
          assert.deepEqual(
            targets.map(({ status, route }: { status: string; route: string }) => [status, route]),
            reachable.map((to) => [to, to === 'f' ? 'complete' : 'update']),
          );
          const ifMatch = { 'if-match': `task-${task.version}` };
          const isComplete = move === 'complete';
          const answer = isComplete
            ? await baton.admin.post(`/tasks/${task.id}:complete`, {}, ifMatch)
            : await baton.admin.patch(`/tasks/${task.id}`, { status: move }, ifMatch);
          const to = isComplete ? 'f' : move;
          const expected = isComplete
            ? categoryOf(from) === 'terminal_success'
              ? 'task_already_completed'
              : categoryOf(from) === 'terminal_cancelled'
                ? 'task_cancelled'
                : allowed.includes('f')
                  ? undefined
                  : 'invalid_transition'
            : categoryOf(to) === undefined
              ? 'status_not_in_lifecycle'
              : categoryOf(to) === 'terminal_success'
                ? 'invalid_status'
                : allowed.includes(to)
                  ? undefined
                  : 'invalid_transition';
          assert.equal(answer.body.error?.code, expected);
          if (expected !== undefined) continue;
          assert.equal(answer.body.version, task.version + 1);
          assert.deepEqual([answer.body.status, answer.body.systemStatusCategory], [to, categoryOf(to)]);
          assert.equal(answer.body.completedAt !== null, categoryOf(to) === 'terminal_success');
          task = answer.body;
        }
      },
    ),
    { numRuns: 30 },
  );
});
