import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateBacklog } from '@baton/demo/backlog-generator';
import { backEdges } from '../import/cycles.ts';
import type { Dependency, Issue } from '../import/forms/beads-lines.ts';
import { describeDropped } from '../import/relations.ts';
import { planImport } from './import-plan.ts';

function issue(id: string, status = 'open', dependencies: Dependency[] = [], priority = 2): Issue {
  return { id, title: `Do ${id}`, status, priority, issue_type: 'task', dependencies };
}

function blocks(on: string): Dependency {
  return { on, type: 'blocks' };
}

test('closed issues become done tasks, deleted ones cancelled tasks, all others open tasks', () => {
  const statuses = ['open', 'in_progress', 'blocked', 'hooked', 'closed', 'tombstone'];
  const { tasks } = planImport(statuses.map((status) => issue(status, status)));
  assert.deepEqual(
    tasks.map(({ fate }) => fate),
    ['open', 'open', 'open', 'open', 'done', 'deleted'],
  );
});

test('with reopen all issues are open, and every dependency is kept', () => {
  const plan = planImport([issue('a', 'tombstone'), issue('b', 'closed', [blocks('a')])], true);
  assert.ok(plan.tasks.every(({ fate }) => fate === 'open'));
  assert.equal(plan.relations.length, 1);
});

test('dependencies become relations from the issue to the referenced one', () => {
  const { relations } = planImport([
    issue('a'),
    issue('b', 'open', [
      blocks('a'),
      { on: 'a', type: 'parent-child' },
      { on: 'a', type: 'discovered-from' },
    ]),
  ]);
  assert.deepEqual(relations, [
    { from: 'b', to: 'a', type: 'depends_on' },
    { from: 'b', to: 'a', type: 'parent' },
    { from: 'b', to: 'a', type: 'related_to' },
  ]);
});

test('priorities 0 to 4 become critical, high, medium, low, low; anything else medium', () => {
  const { tasks } = planImport(
    [0, 1, 2, 3, 4, 9, Number.NaN].map((priority, index) => issue(`${index}`, 'open', [], priority)),
  );
  assert.deepEqual(
    tasks.map(({ body }) => body.priority),
    ['critical', 'high', 'medium', 'low', 'low', 'medium', 'medium'],
  );
});

test('a title is truncated to the length that the service accepts, and never empty', () => {
  const { tasks } = planImport([
    { ...issue('a'), title: 'x'.repeat(700) },
    { ...issue('b'), title: '  ' },
  ]);
  assert.equal(tasks[0]?.body.title.length, 500);
  assert.equal(tasks[1]?.body.title, 'b');
});

test('a dependency on a missing issue is left out and reported', () => {
  const { relations, dropped } = planImport([issue('a', 'open', [blocks('gone')])]);
  assert.deepEqual(relations, []);
  assert.deepEqual(describeDropped(dropped), [
    '1 dependencies left out: they point to an issue that is not in the backlog.',
  ]);
});

test('open work does not wait for a deleted issue', () => {
  const { relations, dropped } = planImport([issue('a', 'tombstone'), issue('b', 'open', [blocks('a')])]);
  assert.deepEqual(relations, []);
  assert.equal(dropped.waitingForDeleted, 1);
});

test('repeated and self-pointing dependencies are left out', () => {
  const { relations, dropped } = planImport([
    issue('a', 'open', [blocks('b'), blocks('b'), blocks('a')]),
    issue('b'),
  ]);
  assert.equal(relations.length, 1);
  assert.equal(dropped.repeated, 2);
});

test('one dependency of a cycle is left out, and the rest is kept', () => {
  const plan = planImport([
    issue('a', 'open', [blocks('b')]),
    issue('b', 'open', [blocks('c')]),
    issue('c', 'open', [blocks('a')]),
  ]);
  assert.equal(plan.relations.length, 2);
  assert.equal(plan.dropped.closingCycle, 1);
});

test('relations of different types form no cycle', () => {
  const plan = planImport([
    issue('a', 'open', [blocks('b')]),
    issue('b', 'open', [{ on: 'a', type: 'parent-child' }]),
  ]);
  assert.equal(plan.relations.length, 2);
  assert.equal(plan.dropped.closingCycle, 0);
});

test('a graph without its back edges has no cycle', () => {
  const edges = [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a'],
    ['c', 'b'],
    ['d', 'a'],
    ['d', 'd'],
  ].map(([from, to]) => ({ from: from as string, to: to as string }));
  const closing = new Set(backEdges(edges));
  assert.equal(closing.size, 3);
  assert.deepEqual(backEdges(edges.filter((edge) => !closing.has(edge))), []);
});

test('a chain of 100,000 dependencies overflows no stack', () => {
  const edges = Array.from({ length: 100_000 }, (_, index) => ({ from: `${index}`, to: `${index + 1}` }));
  assert.deepEqual(backEdges(edges), []);
});

test('a generated backlog is the same for the same seed, and only repetitions are left out', () => {
  const issues = generateBacklog(2000, 7);
  assert.deepEqual(issues, generateBacklog(2000, 7));
  assert.notDeepEqual(issues, generateBacklog(2000, 8));
  const { tasks, relations, dropped } = planImport(issues);
  assert.equal(dropped.closingCycle + dropped.dangling, 0);
  assert.ok(relations.filter(({ type }) => type === 'depends_on').length > 300);
  assert.ok(tasks.filter(({ fate }) => fate === 'open').length > 1500);
});
