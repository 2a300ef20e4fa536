import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';

interface Resource {
  id: string;
  userName?: string;
  displayName?: string;
  meta: { resourceType: string };
}

let identity: TestIdentity;
let client: ScimClient;
before(async () => {
  identity = await startIdentity({ IAM_SCIM_MAX_PAGE_SIZE: '10' });
  client = scimClient(identity, (await makeProvisioning(identity)).token);
  const ids: string[] = [];
  for (const [userName, displayName, title] of [
    ['bob', 'Beta', 'Boss'],
    ['ann', 'Delta', undefined],
  ])
    ids.push((await made(client.post('/Users', { userName, displayName, title }))).id);
  for (const displayName of ['Alpha', 'Gamma'])
    await made(client.post('/Groups', { displayName, members: [{ value: ids[0] }] }));
  // Another source's resources are never found.
  const other = scimClient(identity, (await makeProvisioning(identity)).token);
  await made(other.post('/Users', { userName: randomUUID(), displayName: 'Beta' }));
});
after(() => identity.close());

const search = (body: object) =>
  client.post('/.search', { schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'], ...body });
const namesOf = (body: { Resources: Resource[] }) => body.Resources.map(({ displayName }) => displayName);
const find = async (filter: string, more: object = {}) =>
  namesOf((await made(search({ filter, ...more }))) as { Resources: Resource[] });

test('the root is searched over users and groups, in the order of creation or of an attribute', async () => {
  const all = await made(search({}));
  assert.deepEqual(
    all.Resources.map(({ meta, displayName }: Resource) => `${meta.resourceType} ${displayName}`),
    ['User Beta', 'User Delta', 'Group Alpha', 'Group Gamma'],
  );
  assert.deepEqual([all.totalResults, all.itemsPerPage, all.startIndex], [4, 4, 1]);
  assert.deepEqual(namesOf(await made(search({ sortBy: 'displayName' }))), [
    'Alpha',
    'Beta',
    'Delta',
    'Gamma',
  ]);
  assert.deepEqual(namesOf(await made(search({ sortBy: 'displayName', sortOrder: 'descending' }))), [
    'Gamma',
    'Delta',
    'Beta',
    'Alpha',
  ]);
  // Objects of a kind without the attribute are listed last.
  assert.deepEqual(namesOf(await made(search({ sortBy: 'userName' }))), ['Delta', 'Beta', 'Alpha', 'Gamma']);
  assert.deepEqual(namesOf(await made(search({ sortBy: 'title', count: 1 }))), ['Beta']);
  assert.deepEqual(namesOf(await made(search({ sortBy: 'active', count: 2 }))), ['Beta', 'Delta']);
  for (const sortBy of ['nothing', 'password', 'meta', '('])
    assert.equal((await search({ sortBy })).body.scimType, 'invalidValue', sortBy);
});

test('pages of the root go on where the page before ended', async () => {
  const pages = [];
  for (const startIndex of [1, 2, 3, 4, 5]) {
    const { Resources, totalResults, itemsPerPage } = await made(
      search({ STARTINDEX: startIndex, count: 1, sortBy: 'displayName' }),
    );
    assert.deepEqual([totalResults, itemsPerPage], [4, Resources.length]);
    pages.push(...namesOf({ Resources }));
  }
  assert.deepEqual(pages, ['Alpha', 'Beta', 'Delta', 'Gamma']);
  const counted = await made(search({ count: 0, filter: 'displayName sw "A" or userName pr' }));
  assert.deepEqual([counted.totalResults, counted.Resources], [3, []]);
});

test('an attribute that a kind does not have counts as absent there', async () => {
  assert.deepEqual(await find('displayName eq "beta" or displayName eq "Alpha"'), ['Beta', 'Alpha']);
  assert.deepEqual(await find('userName eq "bob"'), ['Beta']);
  assert.deepEqual(await find('not (userName eq "bob")'), ['Delta', 'Alpha', 'Gamma']);
  assert.deepEqual(await find('userName ne "bob"'), ['Delta', 'Alpha', 'Gamma']);
  assert.deepEqual(await find('userName eq null'), ['Alpha', 'Gamma']);
  assert.deepEqual(await find('userName ne null'), ['Beta', 'Delta']);
  assert.deepEqual(await find('members pr'), ['Alpha', 'Gamma']);
  assert.deepEqual(await find('emails[type eq "work"] or displayName co "amm"'), ['Gamma']);
  assert.deepEqual(await find('active eq true'), ['Beta', 'Delta']);
  assert.deepEqual(await find('meta.resourceType eq "Group" and displayName sw "a"'), ['Alpha']);
  for (const filter of ['nothing pr', 'userName gt 1', 'active gt true', 'displayName eq', 'password pr'])
    assert.equal((await search({ filter })).body.scimType, 'invalidFilter', filter);
});

test('attributes of both kinds can be selected', async () => {
  const { Resources } = await made(
    search({ attributes: ['userName', 'members.value'], sortBy: 'displayName' }),
  );
  assert.deepEqual(
    Resources.map((resource: object) => Object.keys(resource).sort()),
    [
      ['id', 'members', 'schemas'],
      ['id', 'schemas', 'userName'],
      ['id', 'schemas', 'userName'],
      ['id', 'members', 'schemas'],
    ],
  );
  const { Resources: without } = await made(search({ excludedAttributes: 'members,groups' }));
  assert.ok(without.every((resource: object) => !('members' in resource) && !('groups' in resource)));
});

test('a page of the root has its bounds: so many resources, and about 4 MiB', async () => {
  assert.equal((await made(search({ count: 1000 }))).Resources.length, 4);
  const own = scimClient(identity, (await makeProvisioning(identity)).token);
  for (let n = 0; n < 12; n += 1) await made(own.post('/Users', { userName: randomUUID() }));
  assert.equal((await made(own.post('/.search', { count: 1000 }))).Resources.length, 10);
  const { id } = await made(own.post('/Groups', { displayName: 'last' }));
  await identity.pool.run(sql`
    update scim_users set document = jsonb_build_object('title', repeat('y', 1500000))
    where provisioning_source_id = (select provisioning_source_id from scim_groups where id = ${id})`);
  const heavy = await made(own.post('/.search', {}));
  assert.deepEqual([heavy.itemsPerPage, heavy.totalResults], [2, 13]);
  const last = await made(own.post('/.search', { startIndex: 13 }));
  assert.deepEqual(namesOf(last), ['last']);
  const deep = await own.post('/.search', { filter: `${'('.repeat(17)}id pr${')'.repeat(17)}` });
  assert.equal(deep.body.scimType, 'invalidFilter');
});
