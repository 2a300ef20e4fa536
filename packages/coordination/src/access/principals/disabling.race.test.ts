import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';

const rounds = 20;
const workers = 8;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('a disable amid its commands leaves no open session and no active claim', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const agent = await baton.actor();
    const { body: session } = await agent.post('/sessions', { clientName: 'busy' });
    const tasks = await Promise.all(
      Array.from({ length: workers }, () => baton.admin.post('/tasks', { title: 'wanted' })),
    );
    const work = tasks.flatMap(({ body }) => [
      agent.post(`/tasks/${body.id}:claim`, { sessionId: session.id }),
      agent.post('/sessions', { clientName: 'busy' }),
    ]);
    const [disabled, ...answers] = await Promise.all([
      baton.admin.post(`/principals/${agent.principalId}:disable`),
      ...work,
    ]);
    assert.equal(disabled?.status, 200, JSON.stringify(disabled?.body));
    // On a slow machine a disable ends the connections of those that it waited 600 ms for: 503.
    for (const { status, body } of answers) assert.ok(status < 500 || status === 503, JSON.stringify(body));
    const left = await baton.pool.row<{ sessions: number; claims: number }>(sql`
      select (select count(*) from sessions where principal_id = ${agent.principalId} and status <> 'closed') as sessions,
        (select count(*) from claims where holder_id = ${agent.principalId} and status = 'active') as claims`);
    assert.deepEqual(left, { sessions: 0, claims: 0 }, `round ${round}`);
  }
});

test('of two who disable each other, one remains', async () => {
  for (let round = 0; round < 5; round += 1) {
    const [one, other] = [await baton.actor({ kind: 'human' }), await baton.actor({ kind: 'human' })];
    const answers = await Promise.all([
      one.post(`/principals/${other.principalId}:disable`),
      other.post(`/principals/${one.principalId}:disable`),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status === 200).sort(),
      [false, true],
      JSON.stringify(answers.map(({ body }) => body)),
    );
    const failed = answers.find(({ status }) => status !== 200);
    const code = failed?.body.error.code;
    // `unavailable`: the first to come ended the connection of the other one, which waited for it.
    const codes = ['principal_not_active', 'invalid_credentials', 'unavailable'];
    assert.ok(codes.includes(code), JSON.stringify(failed?.body));
  }
});

test('an identity that is given to somebody else meanwhile is not revoked with its former principal', async () => {
  const [former, heir] = [await baton.actor(), await baton.actor()];
  await baton.admin.get('/principals');
  const disabled = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      update iam_bindings set principal_id = ${heir.principalId} where iam_principal_id = ${former.iamPrincipalId}`);
    const asked = baton.admin.post(`/principals/${former.principalId}:disable`);
    await new Promise((done) => setTimeout(done, 1000));
    return { asked };
  });
  assert.equal((await disabled.asked).status, 200);
  const { body } = await baton.admin.get(`/principals/${heir.principalId}/iam-bindings`);
  const given = body.items.find(
    (one: { iamPrincipalId: string }) => one.iamPrincipalId === former.iamPrincipalId,
  );
  assert.equal(given.status, 'active');
});
