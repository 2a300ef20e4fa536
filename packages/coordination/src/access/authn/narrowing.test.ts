import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/kernel/ids';
import { endpointName } from '@baton/kernel/service';
import { endpoints } from '../../app/endpoints.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

const [read, write, admin] = ['control-plane:read', 'control-plane:write', 'control-plane:admin'] as const;

/** The caller holds every permission; each endpoint must check what the token's scopes leave of them. */
const columns: { scopes: string[]; leaves(permission: string): boolean }[] = [
  { scopes: [read], leaves: (name) => name.endsWith('.read') },
  { scopes: [write], leaves: (name) => !name.endsWith('.read') },
  { scopes: [read, write], leaves: () => true },
  { scopes: [admin], leaves: () => true },
];

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

for (const { scopes, leaves } of columns)
  test(`what ${scopes.join(' and ')} leaves of all permissions decides at every endpoint`, async () => {
    const actor = await baton.actor({ kind: 'human', scopes });
    for (const endpoint of endpoints) {
      if (endpoint.permission.length === 0) continue;
      const { status, body } = await call(actor, endpoint);
      const denied = status === 403 && body.error.code === 'permission_denied';
      const message = `${endpointName(endpoint)}: ${status} ${JSON.stringify(body)}`;
      assert.equal(denied, !endpoint.permission.some(leaves), message);
      if (denied) assert.deepEqual(body.error.details, { required: endpoint.permission }, message);
    }
  });

test('a permission held by nobody else than the caller counts: one is enough, another is not', async () => {
  for (const endpoint of endpoints.filter(({ permission }) => permission.length > 0)) {
    for (const permission of endpoint.permission) {
      const { status, body } = await call(await actorWith(permission), endpoint);
      const denied = status === 403 && body.error.code === 'permission_denied';
      assert.ok(!denied, `${endpointName(endpoint)} with ${permission}`);
    }
    const other = endpoint.permission.includes('goals.read') ? 'rules.read' : 'goals.read';
    const { status, body } = await call(await actorWith(other), endpoint);
    assert.deepEqual([status, body.error?.code], [403, 'permission_denied'], endpointName(endpoint));
  }
});

const actors = new Map<string, Promise<Actor>>();

function actorWith(permission: string): Promise<Actor> {
  const known = actors.get(permission);
  if (known !== undefined) return known;
  const made = baton.actor({ kind: 'human', permissions: [permission as 'admin'] });
  actors.set(permission, made);
  return made;
}

function call({ token }: Actor, { method, path, root, ifMatch, body, example }: (typeof endpoints)[number]) {
  const filled = path.replaceAll(/\{\w+\}/g, newId());
  return baton.request(method, `${root ? '' : '/api/v1'}${filled}`, {
    token,
    headers: { ...(ifMatch && { 'if-match': `"${ifMatch}-1"` }), 'idempotency-key': newId() },
    ...(body && { body: example }),
  });
}
