import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { checkBy, makeVerifier, openVerification } from '../../testing/results/verification.ts';

const batchMax = 50;
const evidence = [{ kind: 'external', externalRef: { system: 'ci', id: '1' }, check: 'checked' }];

let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
const logged: string[] = [];
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton, logged);
  const run = (text: string) => baton.pool.run({ text, values: [] });
  await run('create table poisoned (id uuid primary key)');
  await run(`
    create function refuse_poison() returns trigger language plpgsql as $$ begin
      if exists (select from poisoned where id = new.id) then raise exception 'poison'; end if;
      return new;
    end $$`);
  await run(
    'create trigger poison before update on verifications for each row execute function refuse_poison()',
  );
});
after(async () => {
  await judge.close();
  await baton.close();
});

test('a batch of attempts that can never be evaluated does not block the next one', async () => {
  const bad = [];
  for (let n = 0; n < batchMax; n += 1)
    bad.push(await openVerification(baton, [checkBy('external_state')], { evidence }));
  const good = await openVerification(baton, [checkBy('external_state')], { evidence });
  const badIds = bad.map(({ verification }) => verification.id);
  await baton.pool.run(sql`insert into poisoned select unnest(${badIds}::uuid[])`);

  assert.equal(await judge.run(), batchMax, 'a full batch: the next follows at once');
  assert.equal(await judge.run(), 1);
  const status = async (id: string) => (await done(baton.admin.get(`/tasks/${id}`))).status;
  assert.equal(await status(good.id), 'done');
  for (const { id } of bad) assert.equal(await status(id), 'todo');
  const named = new Set(logged.map((line) => JSON.parse(line).id));
  assert.deepEqual(
    badIds.filter((id) => !named.has(id)),
    [],
    'each is in the log with its id',
  );
  const triedBefore = logged.length;
  await judge.run();
  await judge.run();
  assert.equal(logged.length, triedBefore, 'they are postponed');
});
