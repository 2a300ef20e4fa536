import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('of concurrent edits with the same If-Match, one wins, and one revision is stored', async () => {
  const { id: taskId } = await makeTask(baton);
  for (let round = 0; round < raceRounds; round += 1) {
    const comment = await done(baton.admin.post(`/tasks/${taskId}/comments`, { body: 'contested' }), 201);
    const path = `/tasks/${taskId}/comments/${comment.id}`;
    const ifMatch = { 'if-match': 'comment-1' };
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => baton.admin.patch(path, { body: `by ${n}` }, ifMatch)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409], `round ${round}`);
    const winner = answers.find(({ status }) => status === 200)?.body;
    assert.deepEqual(await done(baton.admin.get(path)), winner);
    const { items } = await done(baton.admin.get(`${path}/revisions`));
    assert.deepEqual(
      items.map(({ version, body }: any) => [version, body]),
      [[1, 'contested']],
    );
  }
});
