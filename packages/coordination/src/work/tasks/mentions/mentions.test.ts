import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, eventsOf, makeTask, refused } from '../../../testing/leases.ts';
import { findMentions, mentionsMax, withoutMentionIds } from './mention-text.ts';

let baton: TestCoordination;
let ada: Actor;
let grace: Actor;
before(async () => {
  baton = await startCoordination();
  ada = await baton.actor({ kind: 'human' });
  grace = await baton.actor({ kind: 'human' });
});
after(() => baton.close());

const mention = ({ principalId }: { principalId: string }, name = 'Somebody') => `@[${name}](${principalId})`;
/** The principals of each event about mentions, in order. */
const mentionedIn = async (taskId: string) =>
  (await eventsOf(baton, taskId))
    .filter(({ type }) => type === 'task.mentioned')
    .map(({ payload }) => payload?.['principalIds']);
const comment = (taskId: string, body: string, by = baton.admin) =>
  done(by.post(`/tasks/${taskId}/comments`, { body }), 201);
const edit = (taskId: string, one: { id: string; version: number }, body: string, by = baton.admin) =>
  done(by.patch(`/tasks/${taskId}/comments/${one.id}`, { body }, { 'if-match': `comment-${one.version}` }));
async function describeTask(taskId: string, description: string, by = baton.admin) {
  const { version } = await done(baton.admin.get(`/tasks/${taskId}`));
  return done(by.patch(`/tasks/${taskId}`, { description }, { 'if-match': `task-${version}` }));
}

describe('mentions in a comment', () => {
  test('are in one event without the text, each principal once, in the order of the text', async () => {
    const task = await makeTask(baton);
    const body = `${mention(grace)}, see ${mention(ada, 'Ada <b>')} and ${mention({ principalId: grace.principalId.toUpperCase() })}`;
    const { id } = await comment(task.id, body);
    const event = (await eventsOf(baton, task.id)).at(-1);
    assert.deepEqual([event?.type, event?.actor_id], ['task.mentioned', baton.admin.principalId]);
    assert.deepEqual(event?.payload, {
      publicId: task.publicId,
      commentId: id,
      authorPrincipalId: baton.admin.principalId,
      principalIds: [grace.principalId, ada.principalId],
    });
  });

  test('of the author, of unknown principals and of other tenants write no event', async () => {
    const task = await makeTask(baton);
    const others = [baton.admin.principalId, newId(), baton.otherAdmin.principalId];
    await comment(task.id, others.map((principalId) => mention({ principalId })).join(' '));
    assert.deepEqual(await mentionedIn(task.id), []);
  });

  test('an edit adds only those that the comment never mentioned before', async () => {
    const task = await makeTask(baton);
    let one = await comment(task.id, `see ${mention(ada)}`);
    one = await edit(task.id, one, `see ${mention(ada)} and ${mention(grace)}`);
    one = await edit(task.id, one, 'see nobody');
    one = await edit(task.id, one, `see ${mention(ada)} and ${mention(grace)} again`);
    assert.deepEqual(await mentionedIn(task.id), [[ada.principalId], [grace.principalId]]);
    await comment(task.id, `another comment to ${mention(ada)}`);
    assert.equal((await mentionedIn(task.id)).length, 3);
  });

  test('an edit that is refused records none', async () => {
    const task = await makeTask(baton);
    const one = await comment(task.id, 'see');
    const path = `/tasks/${task.id}/comments/${one.id}`;
    await refused(
      ada.patch(path, { body: mention(grace) }, { 'if-match': 'comment-1' }),
      403,
      'not_comment_author',
    );
    const stale = { 'if-match': 'comment-9' };
    await refused(baton.admin.patch(path, { body: mention(grace) }, stale), 409, 'version_conflict');
    assert.deepEqual(await mentionedIn(task.id), []);
  });

  test('a repeated request mentions nobody again', async () => {
    const task = await makeTask(baton);
    const headers = { 'idempotency-key': newId() };
    for (let n = 0; n < 2; n += 1)
      await done(baton.admin.post(`/tasks/${task.id}/comments`, { body: mention(ada) }, headers), 201);
    assert.deepEqual(await mentionedIn(task.id), [[ada.principalId]]);
  });

  test(`one text mentions ${mentionsMax} principals over all of its edits`, async () => {
    const task = await makeTask(baton);
    const ids = Array.from({ length: mentionsMax + 5 }, () => newId());
    for (const id of ids)
      await baton.pool.run(sql`
        insert into principals (id, tenant_id, kind, display_name) values (${id}, ${baton.tenantId}, 'human', 'One of many')`);
    const text = (of: readonly string[]) => of.map((principalId) => mention({ principalId })).join(' ');
    let one = await comment(task.id, text(ids));
    assert.deepEqual(await mentionedIn(task.id), [ids.slice(0, mentionsMax)]);
    one = await edit(task.id, one, text(ids.slice(mentionsMax)));
    assert.equal((await mentionedIn(task.id)).length, 1);
    const half = await comment(task.id, text(ids.slice(0, 12)));
    await edit(task.id, half, text(ids.slice(12)));
    assert.deepEqual((await mentionedIn(task.id)).at(-1), ids.slice(12, mentionsMax));
  });
});

describe('mentions in a description', () => {
  test('of a new task and of a change are in events without a comment', async () => {
    const task = await makeTask(baton, { description: `For ${mention(ada)}` });
    await describeTask(task.id, `For ${mention(ada)} and ${mention(grace)}`);
    await describeTask(task.id, `For ${mention(ada)} and ${mention(grace)}.`);
    assert.deepEqual(await mentionedIn(task.id), [[ada.principalId], [grace.principalId]]);
    const events = (await eventsOf(baton, task.id)).filter(({ type }) => type === 'task.mentioned');
    for (const { payload } of events) assert.equal(payload?.['commentId'], null);
  });

  test("an author's mention of themselves notifies them of nobody's later edit", async () => {
    const task = await makeTask(baton, { description: `Mine: ${mention(baton.admin)}` });
    await describeTask(task.id, `Mine: ${mention(baton.admin)}, and yours`, ada);
    assert.deepEqual(await mentionedIn(task.id), []);
  });

  test('another field and the same description write no event', async () => {
    const description = `For ${mention(ada)}`;
    const task = await makeTask(baton, { description });
    await describeTask(task.id, description);
    await done(baton.admin.patch(`/tasks/${task.id}`, { title: 'New' }, { 'if-match': 'task-1' }));
    assert.equal((await mentionedIn(task.id)).length, 1);
  });

  test('that Baton wrote itself write no event when the same description is sent', async () => {
    const task = await makeTask(baton);
    const description = `For ${mention(ada)}`;
    await baton.pool.run(sql`update tasks set description = ${description} where id = ${task.id}`);
    await describeTask(task.id, description);
    assert.deepEqual(await mentionedIn(task.id), []);
  });
});

describe('the text of a mention', () => {
  const id = '0190b2c4-5a6e-7000-8000-0000000000ad';

  test('is found only in its whole form', () => {
    const found = [`@[Ada](${id})`, `a@[Ada Lovelace](${id})b`, `@[Zoë "Z" <x>](${id.toUpperCase()})`];
    for (const text of found) assert.deepEqual(findMentions(text), [id], text);
    const others = [
      `@Ada`,
      `[Ada](${id})`,
      `@[](${id})`,
      `@[Ada] (${id})`,
      `@[A[d]a](${id})`,
      `@[Ada\nLovelace](${id})`,
      `@[Ada](${id}0)`,
      `@[Ada](mailto:ada@example.com)`,
      `@[${'x'.repeat(201)}](${id})`,
    ];
    for (const text of others) assert.deepEqual(findMentions(text), [], text);
  });

  test('is reduced to its name for messages', () => {
    assert.equal(withoutMentionIds(`See @[Ada](${id}), or @[Grace](${id}).`), 'See @Ada, or @Grace.');
  });
});
