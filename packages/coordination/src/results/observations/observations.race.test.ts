import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { sendRequest, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

let baton: TestCoordination;
let second: { url: string };
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
});
after(() => baton.close());

test('of concurrent requests with the same source and key, through two processes, exactly one event is written', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const dedupKey = newId();
    const answers = await Promise.all(
      [baton, second, baton, second].map(({ url }, n) =>
        sendRequest(`${url}/api/v1/observations`, 'POST', {
          token: baton.admin.token,
          body: { kind: 'ci.passed', content: `${n}`, source: 'ci', dedupKey },
        }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 201], `round ${round}`);
    assert.equal(new Set(answers.map(({ body }) => body.eventId)).size, 1);
    const [row] = await baton.pool.rows<{ n: number }>(sql`
      select count(*)::int as n from events where type = 'observation.recorded' and payload ->> 'dedupKey' = ${dedupKey}`);
    assert.equal(row?.n, 1, `round ${round}`);
  }
});
