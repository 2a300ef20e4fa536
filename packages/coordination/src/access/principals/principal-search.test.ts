import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

async function make(displayName: string, email?: string): Promise<string> {
  const { body } = await baton.admin.post('/principals', { kind: 'human', displayName });
  if (email !== undefined) {
    const changed = await baton.admin.patch(
      `/principals/${body.id}`,
      { profile: { email } },
      { 'if-match': '"principal-1"' },
    );
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  }
  return body.id;
}

async function find(q: string, more = ''): Promise<string[]> {
  const { status, body } = await baton.admin.get(`/principals?q=${encodeURIComponent(q)}${more}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.items.map((item: { displayName: string }) => item.displayName);
}

test('GET /principals?q= matches the beginnings of words in the name or the e-mail address', async () => {
  await make('Maria Lopez', 'm.lopez@example.com');
  await make('Mariam Öztürk');
  await make("Siobhán O'Neill", 'sio@corp.example');
  await make('ci-42 (nightly)');
  for (const [q, names] of [
    ['maria', ['Mariam Öztürk', 'Maria Lopez']],
    ['MARIA lop', ['Maria Lopez']],
    ['lopez', ['Maria Lopez']],
    ['m.lopez@example.com', ['Maria Lopez']],
    ['öztürk', ['Mariam Öztürk']],
    ["o'neill", ["Siobhán O'Neill"]],
    ['sio@corp', ["Siobhán O'Neill"]],
    ['ci-42', ['ci-42 (nightly)']],
    ['aria', []],
    ['maria nobody', []],
    ["' & x:*", []],
    ['\\', []],
  ] as const)
    assert.deepEqual(await find(q), names, q);
});

test('a blank search filters nothing; search results are paged and can be filtered', async () => {
  for (let count = 0; count < 3; count += 1) await make(`Paged ${count}`);
  assert.ok((await find(' ')).length >= 3);
  assert.deepEqual(await find('paged', '&kind=agent'), []);
  const first = await baton.admin.get('/principals?q=paged&limit=2');
  assert.equal(first.body.items.length, 2);
  const rest = await baton.admin.get(`/principals?q=paged&limit=2&cursor=${first.body.nextCursor}`);
  assert.deepEqual(
    [rest.body.items.map((item: { displayName: string }) => item.displayName), rest.body.nextCursor],
    [['Paged 0'], null],
  );
});

test('principals of another tenant are never found', async () => {
  const made = await baton.otherAdmin.post('/principals', { kind: 'human', displayName: 'Zebedee' });
  assert.equal(made.status, 201);
  assert.deepEqual(await find('zebedee'), []);
});

test('a search of more than 200 characters or 10 words, or with NUL, is refused', async () => {
  for (const q of ['x'.repeat(201), 'a b c d e f g h i j k'])
    assert.equal((await baton.admin.get(`/principals?q=${encodeURIComponent(q)}`)).status, 400, q);
  assert.equal((await baton.admin.get('/principals?q=%00')).status, 422);
  assert.deepEqual(await find('a b c d e f g h i j'), []);
});

test('the search uses the word index', async () => {
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`set local enable_seqscan = off`);
    await tx.run(sql`set local enable_indexscan = off`);
    const plan = await tx.rows(sql<{ 'QUERY PLAN': string }>`
      explain select id from principals
      where principal_words(tenant_id, display_name, profile ->> 'email')
        @@ principal_query(${baton.tenantId}::uuid, ${'maria'}::text)`);
    assert.match(JSON.stringify(plan), /principals_words/);
  });
});
