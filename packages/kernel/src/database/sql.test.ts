import assert from 'node:assert/strict';
import { test } from 'node:test';
import { part, sql } from './sql.ts';

test('the parts of a statement are inlined, and their parameters are numbered in the order of the text', () => {
  const isOpen = (status: string) => part`status = ${status} and ${isOf('tenant')}`;
  const isOf = (tenantId: string) => part`tenant_id = ${tenantId}`;
  const find = (id: string, rowsMax: number) =>
    sql`select id from tasks where id = ${id} and ${isOpen('open')} limit ${rowsMax}`;
  const { text, values } = find('a', 1);
  assert.equal(text, 'select id from tasks where id = $1 and status = $2 and tenant_id = $3 limit $4');
  assert.deepEqual(values, ['a', 'open', 'tenant', 1]);
});

test('a statement has one name for one text, whatever its parts', () => {
  const find = (id: string, isNewest: boolean) =>
    sql`select id from tasks where id = ${id} order by ${isNewest ? part`id desc` : part`id`}`;
  assert.equal(find('a', true).name, find('b', true).name);
  assert.notEqual(find('a', true).name, find('a', false).name);
});
