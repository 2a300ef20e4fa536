import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';
import { until } from '../../../testing/waiting.ts';

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
before(async () => {
  identity = await startIdentity({ IAM_LOG_LEVEL: 'error' });
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
  await identity.pool.run(sql`alter table scim_users alter column search drop expression`);
  await identity.pool.run(sql`
    drop index scim_users_search, scim_users_modified, scim_users_identity, scim_users_display_name, scim_users_upstream,
      scim_users_inactive, scim_users_of_principal, group_members_of_principal`);
});
after(() => identity.close());

const makeGroup = async () =>
  (await made(client.post('/Groups', { displayName: randomUUID() }))).id as string;

/**
 * Adds this many members to a group, all of them users of the source; over HTTP that would take minutes. The search
 * entries are removed first, because they would take most of the time.
 * @param nameCharacters the length of their names
 */
async function addMembers(groupId: string, count: number, nameCharacters: number): Promise<void> {
  const { tenantId, sourceId, providerId } = fixture;
  const chunk = 10_000;
  for (let made = 0; made < count; made += chunk)
    await identity.pool.transaction(async (tx) => {
      // Runs neither triggers nor foreign-key checks, so the principals need not exist.
      await tx.run(sql`set local session_replication_role = replica`);
      await tx.run(sql`
        with made as materialized (
          select gen_random_uuid() as id, gen_random_uuid() as person
          from generate_series(1, least(${chunk}::int, ${count - made}::int))
        ), users as (
          insert into scim_users (id, provisioning_source_id, tenant_id, principal_id, external_identity_id, user_name,
            active, document)
          select id, ${sourceId}, ${tenantId}, person, ${providerId},
            person::text || repeat('x', ${nameCharacters}::int - 36), true, '{}' from made
        )
        insert into group_members (id, tenant_id, group_id, principal_id, source)
        select gen_random_uuid(), ${tenantId}, g.group_id, made.person, 'scim'
        from made, scim_groups g where g.id = ${groupId}`);
    });
}

test('a PATCH, PUT or POST of a group that is wrong is refused while every turn of the source is taken', async () => {
  const id = await makeGroup();
  const wrong = [{ op: 'add', path: 'members', value: [{ value: 'nobody' }] }];
  const waiting = await identity.pool.transaction(async (tx) => {
    await tx.run(sql`select 1 from scim_groups where id = ${id} for update`);
    const rename = () => client.patch(`/Groups/${id}`, [{ op: 'replace', path: 'displayName', value: 'x' }]);
    const answers = Promise.all([rename(), rename(), rename(), rename()]);
    await until(async () => {
      const row = await identity.pool.row<{ count: number }>(sql`
        select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      return row?.count === 4;
    }, 'four writes wait for the group');
    const refused = await Promise.race([
      Promise.all([
        client.patch(`/Groups/${id}`, wrong),
        client.put(`/Groups/${id}`, { displayName: 'y', members: [{}] }),
        client.post('/Groups', { members: [] }),
      ]),
      answers.then(() => undefined),
    ]);
    assert.deepEqual(
      refused?.map(({ status }) => status),
      [400, 400, 400],
      'they wait for no turn',
    );
    return { answers };
  });
  assert.deepEqual(
    (await waiting.answers).map(({ status }) => status),
    [200, 200, 200, 200],
  );
});

/** Requests a group and does not read the response. */
async function askSlowly(id: string): Promise<IncomingMessage> {
  const asked = httpRequest(`${identity.url}/scim/v2/Groups/${id}`, {
    headers: { authorization: `Bearer ${fixture.token}` },
    agent: false,
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer;
}

test('of answers with a large group a source gets two at a time, also if it does not read them', async (t) => {
  const id = await makeGroup();
  await addMembers(id, 2500, 4000);
  const slow = [await askSlowly(id), await askSlowly(id)];
  t.after(() => slow.forEach((answer) => answer.destroy()));
  assert.deepEqual(
    slow.map(({ statusCode }) => statusCode),
    [200, 200],
  );
  const third = client.get(`/Groups/${id}`);
  assert.equal(await Promise.race([third.then(() => 'answered'), pause(1000, 'waits')]), 'waits');
  const spared = await client.get(`/Groups/${id}?excludedAttributes=members`);
  assert.equal(spared.status, 200, 'without the members nothing waits');
  slow[0]?.destroy();
  const answer = await third;
  assert.deepEqual([answer.status, answer.body.members.length], [200, 2500]);
});

test('a group with more than 100,000 members is shown without them only', async () => {
  const id = await makeGroup();
  await addMembers(id, 100_001, 36);
  const { status, body } = await client.get(`/Groups/${id}`);
  assert.deepEqual([status, body.scimType], [400, 'tooMany']);
  assert.equal((await client.get(`/Groups/${id}?excludedAttributes=members`)).status, 200);
  const listed = await client.get(`/Groups?filter=${encodeURIComponent(`id eq "${id}"`)}`);
  assert.deepEqual([listed.status, listed.body.scimType], [400, 'tooMany']);
});
