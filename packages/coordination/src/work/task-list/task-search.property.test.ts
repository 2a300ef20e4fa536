import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { findRarestGrams } from './task-search.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** More than the search reads before it uses the index. */
const tasks = 700;
/** The numbers of the tasks are spread over 13 buckets of 32,768. */
const numbersMax = 400_000;

const letters = [...'aeiorstnbx', ...'AÉßſKΣσςİıЖ漢😀', ...'%_\\\'"$1', ' ', '\t', '\n', '\u00a0', '\u0301'];
const text = (length: number) =>
  fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: length }).map((parts) => parts.join(''));
const word = text(5).map((given) => given.replaceAll(/\s/g, 'e'));
/** Texts made of few words, so that some words occur in every text and others in hardly any. */
const phrase = (words: readonly string[]) =>
  fc
    .array(
      fc.nat({ max: words.length ** 2 - 1 }).map((at) => words[Math.floor(Math.sqrt(at))] as string),
      { minLength: 1, maxLength: 4 },
    )
    .map((chosen) => chosen.join(' '));

interface Given {
  readonly title: string;
  readonly description: string;
  readonly number: number;
  readonly second: number;
  readonly due: number | null;
  readonly priority: number;
}

async function insert(by: Actor, tenantId: string, given: readonly Given[]): Promise<void> {
  const column = <T>(of: (one: Given) => T) => given.map(of);
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, type_id, title, description, status, category, priority, origin, created_by,
      created_at, due_date)
    select gen_random_uuid(), ${tenantId}::uuid, number, (select id from task_types where tenant_id = ${tenantId} and key = 'task'),
      title, description, 'todo', 'active', priority, '{"kind":"human","evidence":[]}', ${by.principalId}::uuid,
      '2026-01-01'::timestamptz + second * interval '1 second', '2027-01-01'::timestamptz + due * interval '1 day'
    from unnest(${column((one) => one.number)}::bigint[], ${column((one) => one.title)}::text[],
      ${column((one) => one.description)}::text[], ${column((one) => one.second)}::integer[], ${column((one) => one.due)}::integer[],
      ${column((one) => one.priority)}::smallint[]) as g(number, title, description, second, due, priority)`);
}

/** The result of a naive filter, in the list's order. */
async function naive(tenantId: string, terms: readonly string[], sort: string, priority: number | undefined) {
  const rows = await baton.pool.rows<{ id: string }>(sql`
    select id from tasks
    where tenant_id = ${tenantId} and (${priority ?? null}::smallint is null or priority::smallint = ${priority ?? null}::smallint)
      and not exists (
        select from unnest(${terms}::text[]) as t(term)
        where position(lower(term) in lower(title || e'\n' || description || e'\n' || public_id)) = 0)
    order by case when ${sort} = '' then created_at end desc, case when ${sort} = '' then id end desc,
      coalesce(due_date, 'infinity'), id`);
  return rows.map(({ id }) => id);
}

async function found(by: Actor, query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await done(by.get(`/tasks?${query}${cursor}`));
    ids.push(...page.items.map(({ id }: { id: string }) => id));
    if (page.nextCursor === null) return ids;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

const priorities = ['critical', 'high', 'medium', 'low'];

test('q finds the same tasks as a naive filter, in every order and page, for any numbers and times of the tasks', async () => {
  const words = fc.array(word, { minLength: 12, maxLength: 12 });
  const made = words.chain((all) =>
    fc.record({
      words: fc.constant(all),
      tasks: fc.array(
        fc.record({
          title: phrase(all),
          description: fc.oneof(
            { weight: 20, arbitrary: phrase(all) },
            {
              weight: 1,
              arbitrary: phrase(all).map((end) => `${'x'.repeat(8200)} ${end}`),
            },
          ),
          number: fc.nat({ max: numbersMax }),
          second: fc.nat({ max: 400 }),
          due: fc.option(fc.nat({ max: 20 }), { nil: null }),
          priority: fc.nat({ max: 3 }),
        }),
        { minLength: tasks, maxLength: tasks, size: 'max' },
      ),
      isInOrder: fc.boolean(),
    }),
  );
  const [{ words: vocabulary, tasks: given, isInOrder }, { words: others, tasks: more }] = fc.sample(
    made,
    2,
  ) as unknown as [Sample, Sample];
  await insert(baton.admin, baton.tenantId, distinct(given, true));
  const stranger = await baton.actor({ tenantId: baton.otherTenantId });
  await insert(stranger, baton.otherTenantId, distinct(more, isInOrder));
  const terms = fc.array(
    fc.oneof(
      fc.nat({ max: 11 }).map((at) => [vocabulary[at] as string, others[at] as string]),
      text(2).map((one) => [one, one]),
      fc.integer({ min: 0, max: 999 }).map((n) => [`${n}`, `${n}`]),
    ),
    { minLength: 1, maxLength: 3 },
  );
  await fc.assert(
    fc.asyncProperty(
      terms,
      fc.constantFrom('', '&sort=dueDate'),
      fc.option(fc.nat({ max: 3 }), { nil: undefined, freq: 2 }),
      fc.constantFrom(20, 50, 200),
      async (pairs, sort, priority, limit) => {
        for (const [at, [by, tenantId]] of [
          [baton.admin, baton.tenantId] as const,
          [stranger, baton.otherTenantId] as const,
        ].entries()) {
          const q = pairs.map((pair) => pair[at] as string).join(' ');
          const split = q.split(/\s+/).filter(Boolean);
          if (split.length === 0 || split.length > 10) return;
          const narrowed = priority === undefined ? '' : `&priority=${priorities[priority]}`;
          const query = `q=${encodeURIComponent(q)}${sort}${narrowed}&limit=${limit}`;
          assert.deepEqual(await found(by, query), await naive(tenantId, split, sort, priority), query);
        }
      },
    ),
    { numRuns: byDepth(10, 40) },
  );
});

interface Sample {
  readonly words: readonly string[];
  readonly tasks: readonly Given[];
  readonly isInOrder: boolean;
}

/**
 * Each number occurs once. The creation times follow the numbers, as for real tasks, or are random, as no clock would
 * assign them.
 */
function distinct(given: readonly Given[], isInOrder: boolean): Given[] {
  const once = [...new Map(given.map((one) => [one.number + 1, one])).entries()].map(([number, one]) => ({
    ...one,
    number: number + 1000,
  }));
  if (!isInOrder) return once;
  const seconds = once.map(({ second }) => second).sort((a, b) => a - b);
  const inOrder = once.sort((a, b) => a.number - b.number);
  // Some neighbours are swapped, because a transaction gets its time when it starts, but its number later.
  return inOrder.map((one, at) => ({
    ...one,
    second: seconds[at % 7 === 0 && at > 0 ? at - 1 : at] as number,
  }));
}

test('the index is queried for the rarest sequences, and for no more than needed', () => {
  const of = (counts: number[]) =>
    findRarestGrams({ grams: ['abc', 'bcd', 'cde', 'def'], counts, sample: 64 });
  assert.deepEqual(of([64, 0, 64, 0]), ['bcd', 'def']);
  assert.deepEqual(of([64, 64, 64, 64]), ['abc']);
  assert.deepEqual(of([3, 20, 30, 64]), ['abc', 'bcd', 'cde']);
});
