import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Attempt, attemptOf, type CheckOrder, fault, orderTests } from '../testing/check-order.ts';
import {
  absent,
  malformed,
  storeFaults,
  tenantFaults,
  unknownTenant,
  withFields,
} from '../testing/faults.ts';
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

const { store, closedTenant } = storeFaults(() => identity);

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

const newIssuer = 'https://login.example.com/new';

/** A provider with a linked person, which moves to another issuer. */
async function withMovingProvider(): Promise<Attempt> {
  const attempt = await withProvider({
    lifecycleProfile: 'read_only',
    issuer: `${newIssuer}/${randomUUID()}`,
    linkedPeople: 'move',
  });
  const tenantId = attempt.ids['tenantId'] ?? '';
  const principalId = await makePrincipal(identity, tenantId, 'human');
  attempt.ids['subject'] = randomUUID();
  await store`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id)
    select gen_random_uuid(), tenant_id, ${principalId}, issuer, ${attempt.ids['subject']}, 'federated', id
    from identity_providers where tenant_id = ${tenantId}`;
  return attempt;
}

/** Links the subject at the new issuer to another person. */
async function linkElsewhere({ ids, body }: Attempt): Promise<void> {
  const tenantId = ids['tenantId'] ?? '';
  const principalId = await makePrincipal(identity, tenantId, 'human');
  await store`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source)
    values (gen_random_uuid(), ${tenantId}, ${principalId}, ${body.issuer}, ${ids['subject']}, 'manual')`;
}

async function addSource({ ids }: Attempt, kind: 'scim' | 'ldap'): Promise<void> {
  const tenantId = ids['tenantId'] ?? '';
  await makeAudience(identity, tenantId);
  const { principalId: servicePrincipalId } = await makeServiceAccount(identity, tenantId);
  const wanted = { key: 'people', kind, identityProvider: 'corporate', servicePrincipalId };
  ids['sourceId'] = (await made(identity.post(`/tenants/${tenantId}/provisioning-sources`, wanted))).id;
}

const providerFaults = [...tenantFaults, fault('identity_provider_not_found', absent('key'))];

const fillClients = (tenantId: string) => store`
  insert into oauth_clients (id, tenant_id, client_id, name, redirect_uris)
  select gen_random_uuid(), ${tenantId}, gen_random_uuid(), 'x', '{}' from generate_series(1, 100)`;

async function withConnector(): Promise<Attempt> {
  const tenantId = await makeTenant(identity);
  const principalId = await makePrincipal(identity, tenantId);
  const personId = await makePrincipal(identity, tenantId, 'human');
  return attemptOf({ tenantId, principalId, personId });
}

async function fillConnectors({ ids }: Attempt): Promise<void> {
  await store`
    with people as (
      insert into principals (id, kind, display_name)
      select gen_random_uuid(), 'human', 'x' from generate_series(1, 100) returning id
    )
    insert into agent_connectors (agent_id, person_id, tenant_id)
    select ${ids['principalId']}, id, ${ids['tenantId']} from people`;
}

const connectorFaults = [
  ...tenantFaults,
  malformed('principalId'),
  malformed('personId'),
  fault('principal_not_found', absent('principalId'), 'the agent'),
];

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
    prepare: withMovingProvider,
    faults: [
      ...providerFaults,
      fault('invalid_issuer', withFields({ issuer: 'nonsense' })),
      fault(
        'workload_rules_too_wide',
        ({ ids }) => store`
          insert into workload_rules (id, tenant_id, identity_provider_id, key, principal_id, claims, audiences,
            scope_ceiling, single_use, lifetime_seconds_max)
          select gen_random_uuid(), tenant_id, id, 'wide', (select id from principals limit 1),
            '{"ref": {"equals": "main"}}', '{}', '{}', false, 600
          from identity_providers where tenant_id = ${ids['tenantId']} and key = ${ids['key']}`,
      ),
      fault('population_managed_by_directory', (attempt) => addSource(attempt, 'scim')),
      fault(
        'issuer_not_changeable',
        ({ ids }) =>
          store`update identity_providers set principal_kind = 'workload' where tenant_id = ${ids['tenantId']}`,
      ),
      fault(
        'identity_provider_exists',
        ({ ids, body }) => store`
          insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, lifecycle_profile)
          values (gen_random_uuid(), ${ids['tenantId']}, 'another', ${body.issuer}, ${body.issuer}, 'baton', 'managed')`,
      ),
      fault('linked_people_undecided', withFields({ linkedPeople: undefined })),
      fault('external_identity_conflict', linkElsewhere),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers/{key}:disable',
    prepare: () => withProvider(),
    proven: tenantFaults,
    faults: providerFaults,
  },
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers/{key}:enable',
    prepare: () => withProvider(),
    proven: tenantFaults,
    faults: providerFaults,
  },
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers/{key}:test',
    prepare: () => withProvider({}),
    proven: tenantFaults,
    faults: [...providerFaults, fault('invalid_issuer', withFields({ issuer: 'nonsense' }))],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}',
    async prepare() {
      return attemptOf({ tenantId: await makeTenant(identity) }, { name: 'y' });
    },
    proven: tenantFaults,
    faults: [...tenantFaults, unknownTenant],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/provisioning-sources/{sourceId}',
    async prepare() {
      return { ...(await withSource('scim')), body: {} };
    },
    proven: tenantFaults,
    faults: sourceFaults,
  },
  {
    endpoint: 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}:disable',
    prepare: () => withSource('scim'),
    proven: tenantFaults,
    faults: sourceFaults,
  },
  {
    endpoint: 'POST /tenants/{tenantId}/oauth-clients',
    async prepare() {
      const body = { name: 'Release bot', redirectUris: ['https://bot.example/callback'] };
      return attemptOf({ tenantId: await makeTenant(identity) }, body);
    },
    faults: [
      ...tenantFaults,
      fault('a list', withFields({ redirectUris: ['http://bot.example/callback'] }), 'redirect address'),
      unknownTenant,
      fault('tenant_not_found', closedTenant, 'not active'),
      fault('too_many_oauth_clients', ({ ids }) => fillClients(ids['tenantId'] ?? '')),
    ],
  },
  {
    endpoint: 'DELETE /tenants/{tenantId}/oauth-clients/{oauthClientId}',
    async prepare() {
      const tenantId = await makeTenant(identity);
      const body = { name: 'Release bot', redirectUris: ['https://bot.example/callback'] };
      const { id } = await made(identity.post(`/tenants/${tenantId}/oauth-clients`, body));
      return attemptOf({ tenantId, oauthClientId: id });
    },
    faults: [
      ...tenantFaults,
      malformed('oauthClientId'),
      fault('oauth_client_not_found', absent('oauthClientId')),
    ],
  },
  {
    endpoint: 'PUT /tenants/{tenantId}/principals/{principalId}/connectors/{personId}',
    prepare: withConnector,
    faults: [
      ...connectorFaults,
      fault('principal_not_found', absent('personId'), 'the person'),
      fault(
        'agent_principal_required',
        ({ ids }) => store`update principals set kind = 'service_account' where id = ${ids['principalId']}`,
        'the agent',
      ),
      fault('too_many_connectors', fillConnectors),
    ],
  },
  {
    endpoint: 'DELETE /tenants/{tenantId}/principals/{principalId}/connectors/{personId}',
    async prepare() {
      const attempt = await withConnector();
      const { tenantId, principalId, personId } = attempt.ids;
      await store`
        insert into agent_connectors (agent_id, person_id, tenant_id)
        values (${principalId}, ${personId}, ${tenantId})`;
      return attempt;
    },
    faults: [...connectorFaults, fault('agent_connector_not_found', absent('personId'))],
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
