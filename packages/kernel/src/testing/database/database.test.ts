import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from './database.ts';

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test('databases made at the same time share one template and nothing else', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-migrations-'));
  // The content is unique, because otherwise the template would exist already from the previous run.
  await writeFile(join(directory, '0001_things.sql'), `create table things (id int); -- ${directory}`);
  const databases = await Promise.all(Array.from({ length: 6 }, () => createTestDatabase(directory)));
  try {
    await Promise.all(databases.map(({ url }, index) => query(url, `insert into things values (${index})`)));
    for (const [index, { url }] of databases.entries())
      assert.deepEqual(await query(url, 'select id from things'), [{ id: index }]);
  } finally {
    await Promise.all(databases.map((database) => database.drop()));
    await rm(directory, { recursive: true });
  }
  await assert.rejects(query(databases[0]?.url ?? '', 'select 1'), { code: '3D000' });
});
