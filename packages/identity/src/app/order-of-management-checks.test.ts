import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Attempt, attemptOf, type CheckOrder, fault, orderTests } from '../testing/check-order.ts';
import { absent, malformed, storeFaults, tenantFaults } from '../testing/faults.ts';
import { startIdentity, type TestIdentity } from '../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeServiceAccount, makeTenant } from '../testing/objects.ts';
import { makeProvider, makeProvisioning } from '../testing/provisioning.ts';
import { scimClient } from '../testing/scim-client.ts';

/** Tests the orders of checks of the operators' other endpoints: docs/reference/directory.md#order-of-checks. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

const { store } = storeFaults(() => identity);

/** A person who is inactive in a directory whose source is closed, so that no caller may change the person now. */
async function withPerson(body?: object): Promise<Attempt> {
  const { tenantId, sourceId, token } = await makeProvisioning(identity);
  const user = { userName: randomUUID(), active: false };
  const { id } = await made(scimClient(identity, token).post('/Users', user));
  const row = await identity.pool.row<{ principal_id: string }>(
    sql`select principal_id from scim_users where id = ${id}`,
  );
  await store`update provisioning_sources set status = 'disabled' where id = ${sourceId}`;
  return attemptOf({ tenantId, sourceId, principalId: row?.principal_id ?? '' }, body);
}

const personFaults = [
  ...tenantFaults,
  malformed('principalId'),
  fault('principal_not_found', absent('principalId')),
  fault(
    'principal_provisioned',
    ({ ids }: Attempt) =>
      store`update provisioning_sources set status = 'active' where id = ${ids['sourceId']}`,
  ),
];

async function withGroup(body?: object): Promise<Attempt> {
  const tenantId = await makeTenant(identity);
  const path = `/tenants/${tenantId}/groups`;
  const groupId = (await made(identity.post(path, { key: 'people', name: 'x' }))).id;
  const principalId = await makePrincipal(identity, tenantId);
  await made(identity.post(`${path}/${groupId}/members`, { principalId }));
  return attemptOf({ tenantId, groupId, principalId }, body);
}

const groupFaults = [
  ...tenantFaults,
  malformed('groupId'),
  fault('group_not_found', absent('groupId')),
  fault(
    'group_is_federated',
    ({ ids }: Attempt) => store`update groups set source = 'federated' where id = ${ids['groupId']}`,
  ),
];

async function withProvider(body?: object): Promise<Attempt> {
  const tenantId = await makeTenant(identity);
  await makeProvider(identity, tenantId, 'corporate', 'managed');
  return attemptOf({ tenantId, key: 'corporate' }, body);
}

async function addSource({ ids }: Attempt, kind: 'scim' | 'ldap'): Promise<void> {
  const tenantId = ids['tenantId'] ?? '';
  await makeAudience(identity, tenantId);
  const { principalId: servicePrincipalId } = await makeServiceAccount(identity, tenantId);
  const wanted = { key: 'people', kind, identityProvider: 'corporate', servicePrincipalId };
  ids['sourceId'] = (await made(identity.post(`/tenants/${tenantId}/provisioning-sources`, wanted))).id;
}

async function withSource(kind: 'scim' | 'ldap'): Promise<Attempt> {
  const attempt = await withProvider();
  await addSource(attempt, kind);
  return attempt;
}

const sourceFaults = [
  ...tenantFaults,
  malformed('sourceId'),
  fault('provisioning_source_not_found', absent('sourceId')),
];

const orders: CheckOrder[] = [
  {
    endpoint: 'PATCH /tenants/{tenantId}/principals/{principalId}',
    prepare: () => withPerson({ displayName: 'y' }),
    faults: personFaults,
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}:enable',
    prepare: () => withPerson(),
    faults: personFaults,
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/groups/{groupId}',
    prepare: () => withGroup({ name: 'y' }),
    faults: groupFaults,
  },
  {
    endpoint: 'DELETE /tenants/{tenantId}/groups/{groupId}',
    prepare: () => withGroup(),
    faults: groupFaults,
  },
  {
    endpoint: 'DELETE /tenants/{tenantId}/groups/{groupId}/members/{principalId}',
    prepare: () => withGroup(),
    faults: [...groupFaults, fault('group_membership_not_found', absent('principalId'))],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/identity-providers/{key}',
    prepare: () => withProvider({ lifecycleProfile: 'read_only' }),
    faults: [
      ...tenantFaults,
      fault('identity_provider_not_found', absent('key')),
      fault('population_managed_by_directory', (attempt) => addSource(attempt, 'scim')),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}:enable',
    prepare: () => withSource('scim'),
    faults: [
      ...sourceFaults,
      fault('population_managed_by_directory', async ({ ids }) => {
        await store`update provisioning_sources set status = 'disabled' where id = ${ids['sourceId']}`;
        await store`
          update identity_providers set lifecycle_profile = 'read_only' where tenant_id = ${ids['tenantId']}`;
      }),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}:heartbeat',
    prepare: () => withSource('ldap'),
    faults: [
      ...sourceFaults,
      fault(
        'source_syncs_itself',
        ({ ids }) => store`update provisioning_sources set kind = 'scim' where id = ${ids['sourceId']}`,
      ),
    ],
  },
];

orderTests(() => identity, orders);
