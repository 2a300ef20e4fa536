import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyModeOfFile } from '../../testing/access/policy-mode.ts';
import type { TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { newKey, planDocuments, sourceOf } from '../../testing/packages/package-sources.ts';
import { agentKey, agentSpec } from '../../testing/registry/agents.ts';

/** CP_AUTHZ_MODE policy: external authorization decides on the permission for each kind, outside the transaction. */

let baton: TestCoordination;
const { grantActions, askedOf } = policyModeOfFile((mode) => {
  ({ baton } = mode);
});

test('an apply requires the permission for each kind from external authorization', async () => {
  const spec = { displayName: 'Desk', timezone: 'Europe/Berlin', years: [{ year: 2027 }] };
  const documents = [
    { kind: 'Calendar', key: newKey('c'), spec },
    { kind: 'Agent', key: agentKey(), spec: agentSpec({ identity: { permissions: ['tasks.read'] } }) },
  ];
  const named = { key: newKey('p') };
  const actor = await baton.actor({ permissions: ['tasks.read'] });
  const source = { package: sourceOf(named, documents) };
  await refused(actor.post('/packages:plan', source), 403, 'permission_denied');
  grantActions('packages.plan');
  const { planHash } = await planDocuments(actor, named, documents);
  const body = { ...source, planHash };
  const { required } = await refused(actor.post('/packages:apply', body), 403, 'permission_denied');
  assert.ok(required.includes('agents.manage') || required.includes('calendars.write'));
  grantActions('packages.plan', 'calendars.write', 'agents.manage');
  const { applied } = await done(actor.post('/packages:apply', body));
  assert.equal(applied.length, 2);
  const asked = new Set(askedOf(actor).map(({ action }) => action));
  for (const action of ['packages.plan', 'calendars.write', 'agents.manage'])
    assert.ok(asked.has(action), action);
});
