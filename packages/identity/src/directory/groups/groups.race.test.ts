import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { adminHeader, startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { journalOf } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';

let identity: TestIdentity;
let other: TestIdentity;
before(async () => {
  identity = await startIdentity();
  other = await identity.another();
});
after(() => identity.close());

async function makeGroup() {
  const tenantId = await makeTenant(identity);
  const { id } = await made(identity.post(`/tenants/${tenantId}/groups`, { key: 'abc', name: 'x' }));
  return { tenantId, path: `/tenants/${tenantId}/groups/${id}` };
}
const remove = (service: TestIdentity, path: string) =>
  service.request('DELETE', `/api/v1${path}`, { headers: adminHeader });
const outcomeOf = ({ status, body }: { status: number; body: { detail?: string } }) =>
  body.detail ?? String(status);
const sides = (count: number) => Array.from({ length: count }, (_, n) => (n % 2 === 0 ? identity : other));
const idOf = (path: string) => path.slice(-36);
/** The row exists until the job has removed the last members of a deleted group. */
const isGone = async (path: string) =>
  (await identity.pool.row(sql`select id from groups where id = ${idOf(path)}`)) === undefined;
const typesOf = async (tenantId: string, ...wanted: string[]) =>
  (await journalOf(identity, tenantId)).map(({ type }) => type).filter((type) => wanted.includes(type));

test('a group is disabled without waiting for sign-ins and changes that add members', async () => {
  const { path } = await makeGroup();
  await identity.pool.transaction(async (tx) => {
    // Takes the lock that a request adding a member holds until its commit.
    await tx.run(sql`select id from groups where id = ${idOf(path)} for key share`);
    const { status, body } = await other.patch(path, { status: 'disabled' });
    assert.equal(status, 200, JSON.stringify(body));
  });
});

test('a new name and a new status at the same time both stay, with an event each', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { tenantId, path } = await makeGroup();
    const answers = await Promise.all([
      identity.patch(path, { name: 'New name' }),
      other.patch(path, { status: 'disabled' }),
      identity.patch(path, { status: 'disabled' }),
    ]);
    assert.deepEqual(answers.map(outcomeOf), ['200', '200', '200']);
    const { body } = await identity.get(path);
    assert.deepEqual([body.name, body.status], ['New name', 'disabled']);
    assert.equal((await typesOf(tenantId, 'group.updated')).length, 2);
  }
});

test('adding and removing one member at the same time: the events alternate and end with the state of the group', async () => {
  const [added, removed] = ['group_membership.added', 'group_membership.removed'];
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const { tenantId, path } = await makeGroup();
    const principalId = await makePrincipal(identity, tenantId);
    const answers = await Promise.all(
      sides(12).flatMap((service, n) =>
        n % 3 === 0
          ? [remove(service, `${path}/members/${principalId}`)]
          : [service.post(`${path}/members`, { principalId })],
      ),
    );
    for (const answer of answers)
      assert.ok(
        ['201', '204', 'group_membership_exists', 'group_membership_not_found'].includes(outcomeOf(answer)),
        outcomeOf(answer),
      );
    const turns = await typesOf(tenantId, added, removed);
    assert.deepEqual(
      turns,
      turns.map((_, n) => (n % 2 === 0 ? added : removed)),
    );
    const { items } = (await identity.get(`${path}/members`)).body;
    assert.equal(items.length, turns.length % 2);
  }
});

test('of several requests that remove one member at the same time, one succeeds', async () => {
  const { tenantId, path } = await makeGroup();
  const principalId = await makePrincipal(identity, tenantId);
  await made(identity.post(`${path}/members`, { principalId }));
  const answers = await Promise.all(
    sides(12).map((service) => remove(service, `${path}/members/${principalId}`)),
  );
  assert.deepEqual(answers.map(outcomeOf).sort(), ['204', ...Array(11).fill('group_membership_not_found')]);
  assert.equal((await typesOf(tenantId, 'group_membership.removed')).length, 1);
});

test('deleting a group while members are added: each that was added has an event of its removal', async () => {
  const raced = [];
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const { tenantId, path } = await makeGroup();
    const people = await Promise.all(sides(6).map(() => makePrincipal(identity, tenantId)));
    const [deleted, ...answers] = await Promise.all([
      remove(other, path),
      ...people.map((principalId, n) =>
        (n % 2 === 0 ? identity : other).post(`${path}/members`, { principalId }),
      ),
    ]);
    assert.equal(deleted.status, 204);
    for (const answer of answers)
      assert.ok(['201', 'group_not_found'].includes(outcomeOf(answer)), outcomeOf(answer));
    raced.push({ tenantId, path, answers });
  }
  // Waits only after all rounds, because the job that removes members runs once a second.
  for (const { tenantId, path, answers } of raced) {
    await until(() => isGone(path), 'the last members are removed');
    const types = await typesOf(tenantId, 'group_membership.added', 'group_membership.removed');
    const countOf = (wanted: string) => types.filter((type) => type === wanted).length;
    assert.equal(countOf('group_membership.added'), countOf('group_membership.removed'));
    assert.equal(answers.filter(({ status }) => status === 201).length, countOf('group_membership.added'));
  }
});
