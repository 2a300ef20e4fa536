import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockOf } from '../../../testing/packages/views.ts';
import { checkView } from './spec-checks.ts';

const problemsOf = (...blocks: object[]) =>
  checkView({ title: 'View', blocks }).problems.map(({ code, path }) => [code, path]);
const columns = (...fields: string[]) => fields.map((field) => ({ field }));

test('a view is accepted with its defaults', () => {
  const block = { title: 'Tasks', source: 'tasks', columns: columns('id') };
  const { spec } = checkView({ title: 'View', blocks: [block] });
  assert.deepEqual(spec, {
    title: 'View',
    titles: {},
    blocks: [{ ...block, filters: [], sorts: [], params: [] }],
  });
  assert.deepEqual(problemsOf(blockOf({ source: 'knowledge', columns: columns('anything') })), []);
});

test('an invalid form is schema_violation', () => {
  for (const [sent, path] of [
    ['text', ''],
    [{ blocks: [blockOf()] }, '/title'],
    [{ title: 'V', blocks: [] }, '/blocks'],
    [{ title: 'V', blocks: Array(51).fill(blockOf()) }, '/blocks'],
    [{ title: 'V', titles: { 'no language': 'x' }, blocks: [blockOf()] }, '/titles/no language'],
    [{ title: 'V', blocks: [blockOf({ source: 'secrets' })] }, '/blocks/0/source'],
    [{ title: 'V', blocks: [blockOf({ columns: [] })] }, '/blocks/0/columns'],
    [{ title: 'V', blocks: [blockOf({ filters: [{ field: 'id', op: 'like' }] })] }, '/blocks/0/filters/0/op'],
    [{ title: 'V', blocks: [blockOf({ more: 1 })] }, '/blocks/0'],
    [{ title: 'x'.repeat(140_000), blocks: [blockOf()] }, ''],
  ] as const) {
    const { problems, spec } = checkView(sent);
    assert.deepEqual([problems[0]?.code, problems[0]?.path, spec], ['schema_violation', path, undefined]);
  }
});

test('a field that the source does not have is unknown_field', () => {
  const wrong = [
    [{ columns: columns('id', 'secret') }, '/blocks/0/columns/1/field'],
    [{ filters: [{ field: 'secret', op: 'eq' }] }, '/blocks/0/filters/0/field'],
    [{ filters: [{ field: '__proto__', op: 'eq' }] }, '/blocks/0/filters/0/field'],
    [{ sorts: [{ field: 'secret', direction: 'asc' }] }, '/blocks/0/sorts/0/field'],
    [{ groupBy: 'secret', columns: columns('value') }, '/blocks/0/groupBy'],
    [{ groupBy: 'status', columns: columns('title') }, '/blocks/0/columns/0/field'],
    [{ columns: columns('value'), aggregate: { fn: 'sum', field: 'secret' } }, '/blocks/0/aggregate/field'],
    [{ columns: columns('id'), aggregate: { fn: 'count' } }, '/blocks/0/columns/0/field'],
  ] as const;
  for (const [more, path] of wrong) assert.deepEqual(problemsOf(blockOf(more)), [['unknown_field', path]]);
  assert.deepEqual(problemsOf(blockOf({ source: 'connections', columns: columns('id', 'settings') })), [
    ['unknown_field', '/blocks/0/columns/1/field'],
  ]);
});

test('values that a field cannot be compared with, and fields that cannot be summed, are data_type_mismatch', () => {
  const filters = (field: string, op: string, value?: unknown) => ({
    filters: [{ field, op, ...(value !== undefined && { value }) }],
  });
  const at = '/blocks/0/filters/0';
  const wrong = [
    [filters('priority', 'prefix'), `${at}/op`],
    [filters('id', 'gte'), `${at}/op`],
    [filters('version', 'prefix'), `${at}/op`],
    [filters('version', 'eq', 'one'), `${at}/value`],
    [filters('title', 'in', 'one'), `${at}/value`],
    [filters('title', 'eq', ['one']), `${at}/value`],
    [filters('dueDate', 'gte', null), `${at}/value`],
    [{ params: [{ name: 'n', type: 'number', default: 'x' }] }, '/blocks/0/params/0/default'],
    [{ columns: columns('value'), aggregate: { fn: 'sum', field: 'title' } }, '/blocks/0/aggregate/field'],
    [{ columns: columns('value'), aggregate: { fn: 'avg', field: 'dueDate' } }, '/blocks/0/aggregate/field'],
  ] as const;
  for (const [more, path] of wrong)
    assert.deepEqual(problemsOf(blockOf(more)), [['data_type_mismatch', path]]);
  const params = [{ name: 'n', type: 'number' }];
  assert.deepEqual(problemsOf(blockOf({ params, ...filters('title', 'eq', { param: 'n' }) })), [
    ['data_type_mismatch', `${at}/value/param`],
  ]);
  assert.deepEqual(problemsOf(blockOf(filters('title', 'eq', { param: 'n' }))), [
    ['unknown_param', `${at}/value/param`],
  ]);
});

test('duplicates, missing fields and defaults for values of the query are schema_violation', () => {
  const wrong = [
    [{ columns: columns('id', 'id') }, '/blocks/0/columns/1/field'],
    [{ filters: Array(2).fill({ field: 'id', op: 'eq' }) }, '/blocks/0/filters/1'],
    [{ params: Array(2).fill({ name: 'a', type: 'text' }) }, '/blocks/0/params/1/name'],
    [{ columns: columns('value'), aggregate: { fn: 'sum' } }, '/blocks/0/aggregate'],
    [{ params: [{ name: 'a', type: 'workspace', default: 'x' }] }, '/blocks/0/params/0/default'],
  ] as const;
  for (const [more, path] of wrong) assert.deepEqual(problemsOf(blockOf(more)), [['schema_violation', path]]);
});
