import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeTenant } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { scimClient } from '../../testing/scim-client.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const make = (tenantId: string, displayName: string, kind = 'human') =>
  made(identity.post(`/tenants/${tenantId}/principals`, { kind, displayName }));

async function find(tenantId: string, q: string, more = ''): Promise<string[]> {
  const path = `/tenants/${tenantId}/principals?q=${encodeURIComponent(q)}${more}`;
  const { status, body } = await identity.get(path);
  assert.equal(status, 200, JSON.stringify(body));
  return body.items.map((item: { display_name: string }) => item.display_name);
}

test('GET …/principals?q= finds by the beginnings of words of the name, in the order of joining', async () => {
  const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
  for (const name of ['Maria Lopez', "Siobhán O'Neill", 'Mariam Öztürk', 'ci-42 (nightly)'])
    await make(tenantId, name);
  await make(otherId, 'Maria Elsewhere');
  for (const [q, names] of [
    ['maria', ['Maria Lopez', 'Mariam Öztürk']],
    ['MARIA lop', ['Maria Lopez']],
    ['öztürk', ['Mariam Öztürk']],
    ["o'neill", ["Siobhán O'Neill"]],
    ['ci-42', ['ci-42 (nightly)']],
    ['aria', []],
    ["' & x:*", []],
    ['\\', []],
  ] as const)
    assert.deepEqual(await find(tenantId, q), names, q);
  assert.equal((await find(tenantId, ' ')).length, 4);
});

test('a search has its pages, and its other filters', async () => {
  const tenantId = await makeTenant(identity);
  for (let count = 0; count < 3; count += 1) await make(tenantId, `Paged ${count}`, 'agent');
  assert.deepEqual(await find(tenantId, 'paged', '&kind=human'), []);
  const path = `/tenants/${tenantId}/principals?q=paged&limit=2`;
  const first = await made(identity.get(path));
  const rest = await made(identity.get(`${path}&after=${first.next_after}`));
  const names = [...first.items, ...rest.items].map(({ display_name }) => display_name);
  assert.deepEqual([names, rest.next_after], [['Paged 0', 'Paged 1', 'Paged 2'], null]);
});

test('the user name of a directory is found by its beginning, in the tenant of the directory only', async () => {
  const { tenantId, token } = await makeProvisioning(identity);
  const directory = scimClient(identity, token);
  await made(directory.post('/Users', { userName: 'Ada_L@Example.com', displayName: 'Countess' }));
  assert.deepEqual(await find(tenantId, 'ada_l@exam'), ['Countess']);
  assert.deepEqual(await find(tenantId, 'ada%'), []);
  assert.deepEqual(await find(tenantId, 'adaxl'), []);
  assert.deepEqual(await find(await makeTenant(identity), 'ada_l@exam'), []);
});

test('a search of more than 200 characters or 10 words is refused, and so is NUL', async () => {
  const tenantId = await makeTenant(identity);
  for (const q of ['x'.repeat(201), 'a b c d e f g h i j k', '\0']) {
    const path = `/tenants/${tenantId}/principals?q=${encodeURIComponent(q)}`;
    assert.equal((await identity.get(path)).status, 422, q);
  }
});

test('GET …/principals?ids= finds these of the tenant, with the other filters; at most 100', async () => {
  const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
  const [maria, agent] = [await make(tenantId, 'Maria Lopez'), await make(tenantId, 'Builds', 'agent')];
  await make(tenantId, 'Somebody');
  const stranger = await make(otherId, 'Stranger');
  const found = async (query: string): Promise<string[]> => {
    const { status, body } = await identity.get(`/tenants/${tenantId}/principals?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.items.map((item: { display_name: string }) => item.display_name);
  };
  const ids = `ids=${[agent.id, maria.id, stranger.id].join(',')}`;
  assert.deepEqual(await found(ids), ['Maria Lopez', 'Builds']);
  assert.deepEqual(await found(`${ids}&kind=agent`), ['Builds']);
  assert.deepEqual(await found(`${ids}&status=disabled`), []);
  for (const wrong of ['x', Array.from({ length: 101 }, () => maria.id).join(',')])
    assert.equal((await identity.get(`/tenants/${tenantId}/principals?ids=${wrong}`)).status, 422);
});
