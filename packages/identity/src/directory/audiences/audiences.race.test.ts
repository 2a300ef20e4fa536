import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeAudience, makeTenant } from '../../testing/objects.ts';
import { journalOf } from '../../testing/records.ts';

let identity: TestIdentity;
let other: TestIdentity;
before(async () => {
  identity = await startIdentity();
  other = await identity.another();
});
after(() => identity.close());

test('new scopes and a new status at the same time both stay, with an event each', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const path = `/tenants/${tenantId}/audiences/control-plane`;
    const answers = await Promise.all([
      identity.patch(path, { allowedScopes: ['a'] }),
      other.patch(path, { status: 'disabled' }),
      identity.patch(path, { status: 'disabled' }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    const { body } = await identity.get(path);
    assert.deepEqual([body.allowed_scopes, body.status], [['a'], 'disabled']);
    const updates = (await journalOf(identity, tenantId)).filter(({ type }) => type === 'audience.updated');
    assert.equal(updates.length, 2);
    assert.deepEqual(updates.at(-1).payload.allowedScopes, ['a']);
  }
});
