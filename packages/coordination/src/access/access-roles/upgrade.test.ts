import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { permissionNames } from '../../service/permissions.ts';
import {
  type Actor,
  migrationsDirectory,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('the upgrade gives administrators with every permission the role, and leaves other bindings alone', async () => {
  const everything = permissionNames.toSorted();
  const administrator = await baton.actor({ kind: 'human', permissions: everything });
  const others = [
    await baton.actor({ kind: 'human', permissions: everything.filter((name) => name !== 'tasks.read') }),
    await baton.actor({ kind: 'human', permissions: ['admin'] }),
    await baton.actor({ permissions: ['tasks.read'] }),
  ];
  const bindings = () => baton.pool.rows(sql`select id, permissions from iam_bindings order by id`);
  const before = await bindings();
  await baton.pool.run(sql`drop table access_roles`);
  await baton.pool.run(sql`alter table iam_bindings drop column access_role`);
  const text = await readFile(join(migrationsDirectory, '0101_access_roles.sql'), 'utf8');
  await baton.pool.run({ text, values: [] });
  const roleOf = async ({ principalId }: Actor) =>
    (await baton.admin.get(`/principals/${principalId}/access`)).body.accessRole;
  assert.equal(await roleOf(administrator), 'administrator');
  for (const other of others) assert.equal(await roleOf(other), null);
  assert.deepEqual(await bindings(), before);
});
