import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import {
  type Answer,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { done, makeTask, openSession } from '../../testing/leases.ts';
import { agentKey, agentSpec, linkAgent, newIdentity, publishAgent } from '../../testing/registry/agents.ts';
import { finishAllEndings } from '../../testing/sweepers.ts';

const rounds = byDepth(8, 200);

let baton: TestCoordination;
let elsewhere: (method: string, path: string, body: object) => Promise<Answer>;
before(async () => {
  baton = await startCoordination();
  const { url } = await baton.another();
  elsewhere = (method, path, body) =>
    sendRequest(`${url}/api/v1${path}`, method, { token: baton.admin.token, body });
});
after(() => baton.close());

const outcomesOf = (answers: readonly Answer[]) =>
  answers.map(({ status, body }) => (status < 300 ? String(status) : body.error.code)).sort();

test('two concurrent first publishes of a key create one agent: equal specs return 201 and 200, different ones revisions 1 and 2', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const [same, twice] = [agentKey(), agentKey()];
    const specs = [agentSpec({ description: 'one' }), agentSpec({ description: 'other' })];
    const equal = await Promise.all([
      baton.admin.post('/agents', { key: same, spec: specs[0] }),
      elsewhere('POST', '/agents', { key: same, spec: specs[0] as object }),
    ]);
    assert.deepEqual(outcomesOf(equal), ['200', '201']);
    const unequal = await Promise.all([
      baton.admin.post('/agents', { key: twice, spec: specs[0] }),
      elsewhere('POST', '/agents', { key: twice, spec: specs[1] as object }),
    ]);
    assert.deepEqual(outcomesOf(unequal), ['201', '201']);
    const { items } = await done(baton.admin.get(`/agents/${twice}/revisions`));
    assert.deepEqual(
      items.map(({ revision }: any) => revision),
      [2, 1],
    );
  }
});

test('concurrent publishes of a linked agent: revisions without gaps, and the binding of the last one', async () => {
  const { key } = await publishAgent(baton.admin);
  const { principalId } = await linkAgent(baton, key);
  const pairs = [['tasks.read'], ['events.read'], ['goals.read'], ['rules.read']];
  const answers = await Promise.all(
    [...pairs, ...pairs].map((permissions, n) => {
      const body = { key, spec: agentSpec({ description: `n${n}`, identity: { permissions } }) };
      return n % 2 === 0 ? baton.admin.post('/agents', body) : elsewhere('POST', '/agents', body);
    }),
  );
  assert.deepEqual(
    outcomesOf(answers),
    answers.map(() => '201'),
  );
  const { currentRevision, revision } = await done(baton.admin.get(`/agents/${key}`));
  assert.equal(currentRevision, 1 + answers.length);
  const [binding] = (await done(baton.admin.get(`/principals/${principalId}/iam-bindings`))).items;
  assert.deepEqual(binding.permissions, revision.spec.identity.permissions);
});

test('a publish concurrent with a retirement precedes it or is refused; a retired agent has no live binding', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { key } = await publishAgent(baton.admin);
    const { principalId } = await linkAgent(baton, key);
    const spec = agentSpec({ description: `r${round}`, identity: { permissions: ['events.read'] } });
    const [published, retired] = await Promise.all([
      baton.admin.post('/agents', { key, spec }),
      elsewhere('POST', `/agents/${key}:retire`, { reason: 'x' }),
    ]);
    assert.equal(retired.status, 200, JSON.stringify(retired.body));
    assert.ok(
      published.status === 201 || published.body.error.code === 'agent_retired',
      JSON.stringify(published.body),
    );
    const row = await baton.pool.row<{ live: number; status: string }>(sql`
      select (select count(*) from iam_bindings where principal_id = ${principalId} and status <> 'revoked') as live,
        (select status from agents where key = ${key}) as status`);
    assert.deepEqual(row, { live: 0, status: 'retired' });
  }
});

test('concurrent links of two identities to one agent, or one identity to two agents: one succeeds', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const [one, other] = [await publishAgent(baton.admin), await publishAgent(baton.admin)];
    const toOne = await Promise.all([
      baton.admin.put(`/agents/${one.key}/identity`, newIdentity(baton)),
      elsewhere('PUT', `/agents/${one.key}/identity`, newIdentity(baton)),
    ]);
    assert.deepEqual(outcomesOf(toOne), ['200', 'agent_identity_conflict']);
    const identity = newIdentity(baton);
    const third = await publishAgent(baton.admin);
    const toTwo = await Promise.all([
      baton.admin.put(`/agents/${other.key}/identity`, identity),
      elsewhere('PUT', `/agents/${third.key}/identity`, identity),
    ]);
    assert.deepEqual(outcomesOf(toTwo), ['200', 'agent_identity_conflict']);
    const linked = await Promise.all(
      [other.key, third.key].map(async (key) => (await done(baton.admin.get(`/agents/${key}`))).principalId),
    );
    assert.equal(linked.filter((id) => id !== null).length, 1);
    const left = await baton.pool.row<{ count: number }>(sql`
      select count(*) as count from principals p where agent_id is not null
        and not exists (select from agents a where a.principal_id = p.id)`);
    assert.equal(left?.count, 0, 'a refused link leaves no principal');
  }
});

test('a link concurrent with a retirement leaves no live principal in either order', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { key, id } = await publishAgent(baton.admin);
    const [linked, retired] = await Promise.all([
      baton.admin.put(`/agents/${key}/identity`, newIdentity(baton)),
      elsewhere('POST', `/agents/${key}:retire`, { reason: 'x' }),
    ]);
    assert.equal(retired.status, 200, JSON.stringify(retired.body));
    assert.ok(
      linked.status === 200 || linked.body.error.code === 'agent_retired',
      JSON.stringify(linked.body),
    );
    const live = await baton.pool.row<{ count: number }>(sql`
      select count(*) as count from principals where agent_id = ${id} and status = 'active'`);
    assert.equal(live?.count, 0);
  }
});

test('claims that are granted while the agent is retired end with it', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { key } = await publishAgent(baton.admin);
    const agent = await linkAgent(baton, key);
    const sessionId = await openSession(agent);
    const tasks = await Promise.all(Array.from({ length: 6 }, () => makeTask(baton)));
    const [retired, ...answers] = await Promise.all([
      elsewhere('POST', `/agents/${key}:retire`, { reason: 'x' }),
      ...tasks.map(({ id }) => agent.post(`/tasks/${id}:claim`, { sessionId })),
    ]);
    assert.equal(retired?.status, 200, JSON.stringify(retired?.body));
    for (const { status, body } of answers) assert.ok(status < 500 || status === 503, JSON.stringify(body));
    await finishAllEndings(baton);
    const left = await baton.pool.row<{ claims: number; sessions: number }>(sql`
      select (select count(*) from claims where holder_id = ${agent.principalId} and status = 'active') as claims,
        (select count(*) from sessions where principal_id = ${agent.principalId} and status <> 'closed') as sessions`);
    assert.deepEqual(left, { claims: 0, sessions: 0 });
  }
});
