import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, byDepth, raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { finishAllEndings } from '../../testing/sweepers.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

const workers = 8;
/** The two disables take milliseconds on an idle machine: neither waits for deadlock detection. */
const mutualMsMax = 3000;
/** A disable closes connections that block it for 600 ms, which occurs on a slow machine. Their callers receive 503. */
const codesOfDisabled = ['principal_not_active', 'invalid_credentials', ...byDepth(['unavailable'], [])];

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test("a disable that runs concurrently with its principal's commands leaves no open session and no active claim", async () => {
  for (let round = 0; round < raceRounds; round += 1) {
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
    // 503 is possible: on a slow machine, disabling a principal closes connections for which it has waited 600 ms.
    for (const { status, body } of answers) assert.ok(status < 500 || status === 503, JSON.stringify(body));
    await finishAllEndings(baton);
    const left = await baton.pool.row<{ sessions: number; claims: number }>(sql`
      select (select count(*) from sessions where principal_id = ${agent.principalId} and status <> 'closed') as sessions,
        (select count(*) from claims where holder_id = ${agent.principalId} and status = 'active') as claims`);
    assert.deepEqual(left, { sessions: 0, claims: 0 }, `round ${round}`);
  }
});

test('of two principals that disable each other, one remains active and the other is refused as disabled', async () => {
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const [one, other] = [await baton.actor({ kind: 'human' }), await baton.actor({ kind: 'human' })];
    const startedAt = performance.now();
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
    assert.ok(codesOfDisabled.includes(code), JSON.stringify(failed?.body));
    assertTookLess(startedAt, mutualMsMax);
  }
});

test('of three principals that disable each other in a circle, each gets a response and at least one remains active', async () => {
  const three = await Promise.all([0, 1, 2].map(() => baton.actor({ kind: 'human' })));
  const answers = await Promise.all(
    three.map((actor, n) => actor.post(`/principals/${three[(n + 1) % 3]?.principalId}:disable`)),
  );
  const codes = answers.map(({ status, body }) => (status === 200 ? 'ok' : body.error.code));
  for (const code of codes) assert.ok(['ok', ...codesOfDisabled].includes(code), codes.join());
  assert.ok(codes.includes('ok'));
});

test('a command that blocks a disable of its caller loses its connection', async () => {
  const agent = await baton.actor();
  const stuck = baton.pool.transaction(async (tx) => {
    await tx.run(sql`select enter_principal(${agent.principalId}, ${baton.tenantId})`);
    const startedAt = performance.now();
    const { status, body } = await baton.admin.post(`/principals/${agent.principalId}:disable`);
    assert.equal(status, 200, JSON.stringify(body));
    assertTookLess(startedAt, 3000);
    await tx.run(sql`select 1`);
  });
  await assert.rejects(stuck, /terminat|not queryable/i);
});

test('a caller that may not disable a principal does not delay its commands', async () => {
  const [administrator, writer] = [
    await baton.actor({ kind: 'human' }),
    await baton.actor({ kind: 'human', permissions: ['principals.write'] }),
  ];
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select enter_principal(${administrator.principalId}, ${baton.tenantId})`);
    for (const verb of ['disable', 'enable']) {
      if (verb === 'enable')
        await baton.pool.run(
          sql`update principals set status = 'paused' where id = ${administrator.principalId}`,
        );
      const { status, body } = await writer.post(`/principals/${administrator.principalId}:${verb}`);
      assert.deepEqual([status, body.error?.code], [403, 'permission_escalation']);
    }
    await tx.run(sql`select 1`);
  });
});

test('an identity that is moved to another principal meanwhile is not revoked with its former principal', async () => {
  const [former, heir] = [await baton.actor(), await baton.actor()];
  await baton.admin.get('/principals');
  const disabled = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      update iam_bindings set principal_id = ${heir.principalId} where iam_principal_id = ${former.iamPrincipalId}`);
    const asked = baton.admin.post(`/principals/${former.principalId}:disable`);
    await untilBlockedBy(tx, baton, asked);
    return { asked };
  });
  assert.equal((await disabled.asked).status, 200);
  const { body } = await baton.admin.get(`/principals/${heir.principalId}/iam-bindings`);
  const given = body.items.find(
    (one: { iamPrincipalId: string }) => one.iamPrincipalId === former.iamPrincipalId,
  );
  assert.equal(given.status, 'active');
});
