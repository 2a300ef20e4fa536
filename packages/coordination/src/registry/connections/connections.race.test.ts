import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { deleteSecretLeftovers } from '../../access/secret-store/leftovers.ts';
import { startSecretStore, type TestSecretStore } from '../../testing/access/secret-store.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeConnection, makeOauthConnection, newToken } from '../../testing/registry/connections.ts';
import { startProvider, type TestProvider } from '../../testing/registry/oauth-provider.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';

let baton: TestCoordination;
let provider: TestProvider;
let vault: TestSecretStore;
before(async () => {
  [provider, vault] = [await startProvider(), await startSecretStore()];
  baton = await startCoordination({
    ...provider.settings,
    ...vault.settings,
    CP_OAUTH_TIMEOUT_SECONDS: '60',
  });
});
after(async () => {
  await baton.close();
  await provider.close();
  await vault.close();
});
afterEach(() => {
  delete provider.beforeAnswer;
  delete vault.beforeAnswer;
  vault.behave({});
});

const comeBack = (query: string) => fetch(`${baton.url}/api/v1/connections:callback${query}`);
const begin = async (key: string) =>
  provider.agree((await done(baton.admin.post(`/connections/${key}:authorize`, {}))).authorizeUrl);
const read = (key: string) => done(baton.admin.get(`/connections/${key}`));
const storedFor = (id: string) => [...vault.values.keys()].filter((at) => at.includes(`/connections/${id}/`));

/** Makes all leftover entries due, and deletes them. */
async function deleteLeftovers(): Promise<void> {
  await baton.pool.run(sql`update secret_leftovers set due_at = now() - interval '1 s'`);
  const { tools, close } = makeWorkerTools(baton);
  try {
    await deleteSecretLeftovers(tools).run();
  } finally {
    await close();
  }
  assert.deepEqual(await baton.pool.rows(sql<{ name: string }>`select name from secret_leftovers`), []);
}

test('of many concurrent callbacks with one state, one connects', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  for (let round = 0; round < byDepth(5, 50); round += 1) {
    const { query } = await begin(key);
    const asked = provider.asked.length;
    const answers = await Promise.all(Array.from({ length: 8 }, () => comeBack(query)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400, 400, 400]);
    assert.equal(provider.asked.length, asked + 1);
  }
  await deleteLeftovers();
  assert.deepEqual(storedFor(id), [(await read(key)).secretRef]);
});

test('a connection that is revoked while the provider responds stays revoked, and its tokens are deleted', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  const { query } = await begin(key);
  provider.beforeAnswer = async () => {
    await done(baton.admin.post(`/connections/${key}:revoke`, {}));
  };
  const answer = await comeBack(query);
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /invalid_state/);
  assert.equal((await read(key)).status, 'revoked');
  await deleteLeftovers();
  assert.deepEqual(storedFor(id), []);
});

test('a token that is stored while the provider responds remains', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  const { query } = await begin(key);
  provider.beforeAnswer = async () => {
    await done(baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() }));
  };
  assert.equal((await comeBack(query)).status, 400);
  const { auth, secretRef } = await read(key);
  assert.equal(auth, 'token');
  await deleteLeftovers();
  assert.deepEqual(storedFor(id), [secretRef]);
});

test('concurrent tokens and revocations leave only the recorded credential in the store', async () => {
  const { id, key } = await makeConnection(baton.admin);
  for (let round = 0; round < byDepth(10, 100); round += 1) {
    const answers = await Promise.all([
      baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() }),
      baton.admin.post(`/connections/${key}:revoke`, {}),
      baton.admin.put(`/connections/${key}/token`, { account: 'b', token: newToken() }),
      baton.admin.post(`/connections/${key}:revoke`, {}),
    ]);
    for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
    const { status, secretRef } = await read(key);
    assert.equal(status, secretRef === null ? 'revoked' : 'active');
    await deleteLeftovers();
    assert.deepEqual(storedFor(id), secretRef === null ? [] : [secretRef]);
  }
});

test('a revocation that started before a new token deletes that token too', async () => {
  const { id, key } = await makeConnection(baton.admin);
  const put = () => baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() });
  await done(put());
  let isFirst = true;
  vault.beforeAnswer = async () => {
    if (!isFirst) return;
    isFirst = false;
    await done(put());
  };
  assert.equal((await done(baton.admin.post(`/connections/${key}:revoke`, {}))).status, 'revoked');
  await deleteLeftovers();
  assert.deepEqual(storedFor(id), []);
});

test('a process that dies between the store and the record leaves no entry in the store', async () => {
  const { id, key } = await makeConnection(baton.admin);
  // The record can't be written: as after kill -9, the token is only in the store.
  await baton.pool.run(sql`alter table connections add constraint no check (status <> 'active') not valid`);
  try {
    const answer = await baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() });
    assert.equal(answer.status, 500);
  } finally {
    await baton.pool.run(sql`alter table connections drop constraint no`);
  }
  assert.equal(storedFor(id).length, 1);
  await deleteLeftovers();
  assert.deepEqual(storedFor(id), []);
});

test('cleanup waits while the store is unavailable, and a late command is refused', async () => {
  const { id, key } = await makeConnection(baton.admin);
  vault.beforeAnswer = async () => {
    await baton.pool.run(sql`update secret_leftovers set due_at = now() - interval '1 s'`);
  };
  await refused(
    baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() }),
    503,
    'secret_store_unavailable',
  );
  delete vault.beforeAnswer;
  vault.behave({ hangsUp: true });
  const { tools, close } = makeWorkerTools(baton);
  await deleteSecretLeftovers(tools).run();
  await close();
  assert.equal(storedFor(id).length, 1);
  vault.behave({});
  await deleteLeftovers();
  assert.deepEqual(storedFor(id), []);
});
