import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endpointName } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { endpoints } from '../../app/endpoints.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

const [read, write, admin] = ['control-plane:read', 'control-plane:write', 'control-plane:admin'] as const;

/** The caller has every permission; each endpoint must check those that remain within the token's scopes. */
const columns: { scopes: string[]; leaves(permission: string): boolean }[] = [
  { scopes: [read], leaves: (name) => name.endsWith('.read') },
  { scopes: [write], leaves: (name) => !name.endsWith('.read') && name !== 'admin' },
  { scopes: [read, write], leaves: (name) => name !== 'admin' },
  { scopes: [admin], leaves: () => true },
];

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

for (const { scopes, leaves } of columns)
  test(`the permissions that remain within ${scopes.join(' and ')} are enforced at every endpoint`, async () => {
    const actor = await baton.actor({ kind: 'human', scopes });
    for (const endpoint of endpoints) {
      if (endpoint.permission.length === 0) continue;
      const { status, body } = await call(actor, endpoint);
      const denied = status === 403 && body.error.code === 'permission_denied';
      const message = `${endpointName(endpoint)}: ${status} ${JSON.stringify(body)}`;
      const isCovered = endpoint.permission.some(leaves);
      const isCoveredToo = endpoint.alsoOneOf.length === 0 || endpoint.alsoOneOf.some(leaves);
      assert.equal(denied, !(isCovered && isCoveredToo), message);
      const required = isCovered ? endpoint.alsoOneOf : endpoint.deniedAs;
      if (denied) assert.deepEqual(body.error.details, { required }, message);
    }
  });

test('each accepted permission is sufficient without any other, and another permission is not', async () => {
  // These endpoints are excluded, because their required permissions depend on the body.
  const flat = endpoints.filter(
    ({ id, path }) =>
      !path.startsWith('/external-references') &&
      !['createProject', 'recordPackage', 'applyPackage'].includes(id),
  );
  for (const endpoint of flat.filter(({ permission }) => permission.length > 0)) {
    const [too] = endpoint.alsoOneOf;
    for (const permission of endpoint.permission) {
      const held = too === undefined ? [permission] : [permission, too];
      const { status, body } = await call(await actorWith(...held), endpoint);
      const denied = status === 403 && body.error.code === 'permission_denied';
      assert.ok(!denied, `${endpointName(endpoint)} with ${permission}`);
    }
    for (const permission of endpoint.alsoOneOf) {
      const held = [...endpoint.permission.filter((name) => !endpoint.alsoOneOf.includes(name)), permission];
      const { status, body } = await call(await actorWith(...held), endpoint);
      assert.ok(!(status === 403 && body.error.code === 'permission_denied'), endpointName(endpoint));
    }
    if (too !== undefined) {
      const { status, body } = await call(await actorWith(...endpoint.permission), endpoint);
      assert.equal(status, 403, endpointName(endpoint));
      assert.deepEqual(body.error.details, { required: endpoint.alsoOneOf }, endpointName(endpoint));
    }
    const other = endpoint.permission.includes('goals.read') ? 'rules.read' : 'goals.read';
    const { status, body } = await call(await actorWith(other), endpoint);
    assert.deepEqual([status, body.error?.code], [403, 'permission_denied'], endpointName(endpoint));
  }
});

const actors = new Map<string, Promise<Actor>>();

function actorWith(...permissions: string[]): Promise<Actor> {
  const key = permissions.join();
  const known = actors.get(key);
  if (known !== undefined) return known;
  const made = baton.actor({ kind: 'human', permissions: permissions as 'admin'[] });
  actors.set(key, made);
  return made;
}

function call(
  { token, principalId }: Actor,
  { id, method, path, root, ifMatch, body, query, params, example }: (typeof endpoints)[number],
) {
  // Callers without `admin` delegate from their own principal.
  const sent =
    id === 'createDelegation' ? { ...(example as object), humanPrincipalId: principalId } : example;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = newId();
    return [id, '1', 'key@1'].find((text) => params[name]?.safeParse(text).success !== false) ?? id;
  });
  // Ids of the required objects, and of the task through which a caller with only `tasks.read` may see an artifact.
  const asked = Object.entries(query)
    .filter(([name, form]) => name === 'forTask' || !form.safeParse(undefined).success)
    .map(([name]): [string, string] => [name, newId()]);
  const isRaw = method === 'PUT' && body === undefined;
  return baton.request(method, `${root ? '' : '/api/v1'}${filled}?${new URLSearchParams(asked)}`, {
    token,
    headers: {
      ...(ifMatch && { 'if-match': `"${ifMatch}-1"` }),
      'idempotency-key': newId(),
      ...(isRaw && { 'content-type': 'text/plain' }),
    },
    ...(body && { body: sent }),
    ...(isRaw && { body: 'bytes' }),
  });
}
