import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { checkBy, letTimePass, makeVerifier, openVerification } from '../../testing/results/verification.ts';

test('CP_VERIFICATION_CHECK_SECONDS and CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS set the timers', async (t) => {
  const baton = await startCoordination({
    CP_VERIFICATION_CHECK_SECONDS: '40',
    CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS: '100',
  });
  const judge = makeVerifier(baton);
  t.after(async () => {
    await judge.close();
    await baton.close();
  });
  const { id } = await openVerification(baton, [checkBy('external_state')]);
  const look = async () => {
    await judge.run();
    return (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
  };
  const first = await look();
  const lookAgainMs = Date.parse(first.nextCheckAt) - Date.parse(first.updatedAt);
  assert.ok(lookAgainMs >= 39_900 && lookAgainMs < 60_000, `${lookAgainMs}`);
  await letTimePass(baton, id, 60);
  assert.equal((await look()).status, 'waiting_external');
  await letTimePass(baton, id, 40);
  assert.equal((await look()).status, 'failed');
});
