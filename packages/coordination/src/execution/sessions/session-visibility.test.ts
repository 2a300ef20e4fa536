import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  delegate,
  done,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';

let baton: TestCoordination;
/** Manages sessions, and sees the workspace `mine` but not `other`. */
let person: Actor;
let mine: { id: string };
let other: { id: string };

before(async () => {
  baton = await startCoordination();
  ({ person, mine, other } = await makeNarrowPerson(baton));
});
after(() => baton.close());

/** A session in which a task of each workspace was claimed. */
async function sessionIn(...workspaceIds: (string | null)[]): Promise<string> {
  const worker = await makeWorker(baton);
  for (const workspaceId of workspaceIds)
    await claimTask(worker, (await makeTask(baton, { workspaceId })).id);
  return worker.sessionId;
}

/** The ids of the sessions on all pages. */
async function listed(actor: Actor, query = ''): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await done(actor.get(`/sessions?limit=2${query}${cursor}`));
    ids.push(...page.items.map(({ id }: { id: string }) => id));
    if (page.nextCursor === null) return ids;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

test('a person with restricted visibility gets their own sessions, and those that only work in visible workspaces', async () => {
  const agent = await baton.actor();
  await delegate(person, agent, baton);
  const visible = [
    await openSession(person),
    await openSession(agent, { onBehalfOf: person.principalId }),
    await sessionIn(mine.id),
    await sessionIn(mine.id, null),
    await sessionIn(null),
  ];
  const hidden = [
    await sessionIn(other.id),
    await sessionIn(mine.id, other.id),
    await sessionIn(),
    await openSession(baton.admin),
  ];
  assert.deepEqual((await listed(person)).toSorted(), visible.toSorted());
  assert.deepEqual((await listed(person, '&status=active')).toSorted(), visible.toSorted());
  assert.deepEqual(await listed(person, '&status=stale'), []);
  const all = await listed(baton.admin);
  for (const id of [...visible, ...hidden]) assert.ok(all.includes(id));
  assert.deepEqual(
    all.filter((id) => visible.includes(id)),
    await listed(person),
    'the same order',
  );

  const absent = newId();
  for (const id of hidden)
    for (const [method, path] of [
      ['get', ''],
      ['post', ':heartbeat'],
      ['post', ':close'],
    ] as const) {
      const face = (of: string) => refused(person[method](`/sessions/${of}${path}`), 404, 'not_found');
      assert.deepEqual(await face(id), await face(absent));
    }
  assert.equal((await done(baton.admin.get(`/sessions/${hidden[0]}`))).status, 'active');
  for (const id of visible) await done(person.post(`/sessions/${id}:heartbeat`));
  assert.equal((await done(person.post(`/sessions/${visible[2]}:close`))).status, 'closed');
  assert.ok((await listed(person)).includes(visible[2] as string), 'ended ones are included');
});

test("a session of a registered agent is visible if the agent's workspace is", async () => {
  const agentIn = async (workspace: string) => {
    const { key } = await publishAgent(baton.admin, agentSpec({ work: { workspace } }), newId());
    const actor = await baton.actor();
    await baton.pool.run(sql`
      update agents set principal_id = b.principal_id, binding_id = b.id from iam_bindings b
      where agents.key = ${key} and b.principal_id = ${actor.principalId}`);
    return openSession(actor);
  };
  const [seen, unseen] = [await agentIn(mine.id), await agentIn(other.id)];
  const ids = await listed(person);
  assert.deepEqual([ids.includes(seen), ids.includes(unseen)], [true, false]);
});

test('a session with more claims than the check reads is not listed', async () => {
  const id = await sessionIn(mine.id);
  assert.ok((await listed(person)).includes(id));
  await baton.pool.run(sql`
    insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, expires_at, status)
    select gen_random_uuid(), c.tenant_id, c.task_id, c.session_id, c.holder_id, 1000 + n, now(), 'released'
    from claims c, generate_series(1, 1000) n where c.session_id = ${id}`);
  assert.ok(!(await listed(person)).includes(id));
  await refused(person.get(`/sessions/${id}`), 404, 'not_found');
  await done(baton.admin.get(`/sessions/${id}`));
});
