import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let worker: Worker;
let task: { id: string; publicId: string };
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  task = await makeTask(baton);
});
after(() => baton.close());

const say = (body: string, more: object = {}, taskId = task.id) =>
  baton.admin.post(`/tasks/${taskId}/comments`, { body, ...more });
const edit = (comment: { id: string; version: number }, body: string, by = baton.admin) =>
  by.patch(
    `/tasks/${task.id}/comments/${comment.id}`,
    { body },
    { 'if-match': `comment-${comment.version}` },
  );
const secret = `the token: ${'abcd1234'.repeat(4)}`;

async function runOf(taskId: string) {
  const claim = await claimTask(worker, taskId);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  return done(worker.actor.post(`/tasks/${taskId}:start-run`, keys), 201);
}

const artifactOf = (taskId?: string) => {
  const about = taskId === undefined ? {} : { task: taskId };
  return done(baton.admin.post('/artifacts', { type: 'log', name: 'log', ...about }), 201);
};

describe('POST /tasks/{ref}/comments', () => {
  test('stores the trimmed text, and emits an event without the text', async () => {
    const { status, body, headers } = await baton.admin.post(`/tasks/${task.publicId}/comments`, {
      body: '  seen it \n fail\n',
    });
    assert.equal(status, 201);
    assert.equal(headers.get('etag'), '"comment-1"');
    const { id, createdAt, updatedAt, ...comment } = body;
    assert.deepEqual(comment, {
      tenantId: baton.tenantId,
      taskId: task.id,
      authorPrincipalId: baton.admin.principalId,
      body: 'seen it \n fail',
      runId: null,
      artifactId: null,
      version: 1,
      editedAt: null,
    });
    assert.equal(createdAt, updatedAt);
    const event = (await eventsOf(baton, task.id)).at(-1);
    assert.deepEqual([event?.type, event?.actor_id], ['task.comment_added', baton.admin.principalId]);
    assert.deepEqual(event?.payload, {
      commentId: id,
      authorPrincipalId: baton.admin.principalId,
      version: 1,
      bodyLength: 14,
      runId: null,
      artifactId: null,
    });
  });

  test('may refer to a run and an artifact of the task', async () => {
    const { id } = await makeTask(baton);
    const [run, artifact] = [await runOf(id), await artifactOf(id)];
    const about = { runId: run.id, artifactId: artifact.id };
    const comment = await done(say('see there', about, id), 201);
    assert.deepEqual([comment.runId, comment.artifactId], [run.id, artifact.id]);
    const payload = (await eventsOf(baton, id)).at(-1)?.payload;
    assert.deepEqual([payload?.['runId'], payload?.['artifactId']], [run.id, artifact.id]);
  });

  test('refuses a run or an artifact that is unknown, or of another task', async () => {
    const [mine, theirs] = [await makeTask(baton), await makeTask(baton)];
    const [run, artifact, loose] = [await runOf(theirs.id), await artifactOf(theirs.id), await artifactOf()];
    const unknown = newId();
    const rows: [object, number, string][] = [
      [{ runId: unknown }, 404, 'not_found'],
      [{ artifactId: unknown }, 404, 'not_found'],
      [{ runId: run.id, artifactId: unknown }, 404, 'not_found'],
      [{ runId: run.id }, 422, 'comment_mismatch'],
      [{ artifactId: artifact.id }, 422, 'comment_mismatch'],
      [{ artifactId: loose.id }, 422, 'comment_mismatch'],
    ];
    for (const [about, status, code] of rows) {
      const details = await refused(say('see there', about, mine.id), status, code);
      assert.equal(Object.keys(details).length, 1);
    }
    const foreign = await done(baton.otherAdmin.post('/artifacts', { type: 'log', name: 'log' }), 201);
    await refused(say('see there', { artifactId: foreign.id }, mine.id), 404, 'not_found');
  });

  test("a run or an artifact that the author can't see is unknown, in evidence too", async () => {
    const member = await baton.actor({ kind: 'human' });
    const [mine, other] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const join = { principalId: member.principalId };
    await done(baton.admin.post(`/workspaces/${mine.id}/members`, join), 201);
    await baton.pool.run(
      sql`update iam_bindings set visibility = 'members' where principal_id = ${member.principalId}`,
    );
    const make = ({ id: workspaceId }: { id: string }) => makeTask(baton, { workspaceId });
    const [here, near, hidden] = [await make(mine), await make(mine), await make(other)];
    const tell = (about: object) =>
      member.post(`/tasks/${here.id}/comments`, { body: 'see there', ...about });
    const [run, artifact] = [await runOf(hidden.id), await artifactOf(hidden.id)];
    const filed = { type: 'log', name: 'log', workspaceId: other.id };
    const loose = await done(baton.admin.post('/artifacts', filed), 201);
    for (const about of [{ runId: run.id }, { artifactId: artifact.id }, { artifactId: loose.id }])
      assert.deepEqual(await refused(tell(about), 404, 'not_found'), about);
    await refused(tell({ artifactId: (await artifactOf(near.id)).id }), 422, 'comment_mismatch');
    await done(tell({ artifactId: (await artifactOf(here.id)).id }), 201);
    const cite = (artifactId: string) =>
      member.post('/tasks', {
        title: 'cites',
        workspaceId: mine.id,
        evidence: [{ kind: 'artifact', artifactId }],
      });
    for (const { id } of [artifact, loose])
      assert.deepEqual(await refused(cite(id), 404, 'not_found'), { artifactId: id });
    await done(cite((await artifactOf(near.id)).id), 201);
  });

  test('refuses in the order task, blank, too long, secret, run', async () => {
    const about = { runId: newId() };
    await refused(say(' ', about, newId()), 404, 'not_found');
    await refused(say(' \n ', about), 422, 'invalid_comment_body');
    const long = `${secret} ${'x'.repeat(10_000)}`;
    assert.deepEqual(await refused(say(long, about), 422, 'payload_too_large'), {
      field: 'body',
      maxCharacters: 10_000,
      actualCharacters: long.length,
    });
    await refused(say('x'.repeat(500_000)), 422, 'payload_too_large');
    await refused(say(secret, about), 422, 'secret_material_rejected');
    await refused(say('plain', about), 404, 'not_found');
    await done(say(`${' '.repeat(100)}${'x'.repeat(10_000)}`), 201);
  });

  test('a closed task accepts comments', async () => {
    const closed = await makeTask(baton);
    await done(baton.admin.post(`/tasks/${closed.id}:complete`, {}, { 'if-match': 'task-1' }));
    await done(say('well done', {}, closed.id), 201);
  });

  test('a claimed task accepts comments without its claim, and keeps its version', async () => {
    const held = await makeTask(baton);
    await claimTask(worker, held.id);
    const { version } = await done(baton.admin.get(`/tasks/${held.id}`));
    await done(say('go on', {}, held.id), 201);
    assert.equal((await done(baton.admin.get(`/tasks/${held.id}`))).version, version);
  });
});

describe('GET /tasks/{ref}/comments', () => {
  test('lists them oldest first, in pages whose cursor is bound to the task', async () => {
    const [one, other] = [await makeTask(baton), await makeTask(baton)];
    const made = [];
    for (const text of ['first', 'second', 'third']) made.push(await done(say(text, {}, one.id), 201));
    await done(say('elsewhere', {}, other.id), 201);
    const list = (query: string, taskId = one.id) => baton.admin.get(`/tasks/${taskId}/comments${query}`);
    assert.deepEqual(await done(list('')), { items: made, nextCursor: null });
    const first = await done(list('?limit=2'));
    assert.deepEqual(first.items, made.slice(0, 2));
    const second = await done(list(`?limit=2&cursor=${first.nextCursor}`));
    assert.deepEqual(second, { items: made.slice(2), nextCursor: null });
    await refused(list(`?cursor=${first.nextCursor}`, other.id), 422, 'invalid_cursor');
    await refused(list('', newId()), 404, 'not_found');
  });

  test('one is read with its tag, only under its own task', async () => {
    const comment = await done(say('once'), 201);
    const { body, headers } = await baton.admin.get(`/tasks/${task.id}/comments/${comment.id}`);
    assert.deepEqual(body, comment);
    assert.equal(headers.get('etag'), '"comment-1"');
    const other = await makeTask(baton);
    for (const path of ['', '/revisions'])
      await refused(baton.admin.get(`/tasks/${other.id}/comments/${comment.id}${path}`), 404, 'not_found');
  });
});

describe('PATCH /tasks/{ref}/comments/{id}', () => {
  test('replaces the text and stores the previous one as a revision', async () => {
    const first = await done(say('one'), 201);
    const { body: second, headers } = await edit(first, ' two ');
    assert.equal(headers.get('etag'), '"comment-2"');
    assert.deepEqual(second, {
      ...first,
      body: 'two',
      version: 2,
      updatedAt: second.editedAt,
      editedAt: second.editedAt,
    });
    assert.notEqual(second.editedAt, null);
    const event = (await eventsOf(baton, task.id)).at(-1);
    assert.equal(event?.type, 'task.comment_edited');
    const { commentId, version, bodyLength } = event?.payload ?? {};
    assert.deepEqual([commentId, version, bodyLength], [first.id, 2, 3]);
    const third = await done(edit(second, 'three'));
    const revisions = `/tasks/${task.id}/comments/${first.id}/revisions`;
    const { items, nextCursor } = await done(baton.admin.get(revisions));
    assert.equal(nextCursor, null);
    const common = {
      tenantId: baton.tenantId,
      commentId: first.id,
      taskId: task.id,
      authorPrincipalId: baton.admin.principalId,
      supersededBy: baton.admin.principalId,
    };
    assert.deepEqual(items, [
      {
        ...common,
        id: items[0].id,
        version: 1,
        body: 'one',
        createdAt: first.createdAt,
        supersededAt: second.editedAt,
      },
      {
        ...common,
        id: items[1].id,
        version: 2,
        body: 'two',
        createdAt: second.editedAt,
        supersededAt: third.editedAt,
      },
    ]);
    const page = await done(baton.admin.get(`${revisions}?limit=1`));
    const rest = await done(baton.admin.get(`${revisions}?limit=1&cursor=${page.nextCursor}`));
    assert.deepEqual([...page.items, ...rest.items], items);
  });

  test('the same text, trimmed, changes nothing', async () => {
    const comment = await done(say('same'), 201);
    const events = (await eventsOf(baton, task.id)).length;
    assert.deepEqual(await done(edit(comment, ' same ')), comment);
    assert.equal((await eventsOf(baton, task.id)).length, events);
  });

  test('refuses in the order comment, author, version, text; an administrator too', async () => {
    const comment = await done(worker.actor.post(`/tasks/${task.id}/comments`, { body: 'mine' }), 201);
    await refused(edit({ id: newId(), version: 1 }, ''), 404, 'not_found');
    await refused(edit({ ...comment, version: 9 }, 'theirs'), 403, 'not_comment_author');
    const stale = await refused(edit({ ...comment, version: 9 }, ' ', worker.actor), 409, 'version_conflict');
    assert.deepEqual(stale, {
      commentId: comment.id,
      entity: 'comment',
      id: comment.id,
      expectedVersion: 9,
      currentVersion: 1,
    });
    await refused(edit(comment, ' ', worker.actor), 422, 'invalid_comment_body');
    await refused(edit(comment, 'x'.repeat(10_001), worker.actor), 422, 'payload_too_large');
    await refused(edit(comment, secret, worker.actor), 422, 'secret_material_rejected');
    const path = `/tasks/${task.id}/comments/${comment.id}`;
    assert.deepEqual(await done(baton.admin.get(path)), comment);
    await refused(worker.actor.patch(path, { body: 'x' }), 428, 'if_match_required');
  });
});
