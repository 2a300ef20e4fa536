import { after, before } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Attempt, attemptOf, type CheckOrder, fault, orderTests } from '../../testing/check-order.ts';
import { absent, storeFaults, tenantFaults, withFields } from '../../testing/faults.ts';
import type { TestIdentity } from '../../testing/identity.ts';
import { githubIssuer, makeWorkloadRealm, startWorkloads } from './testing/workloads.ts';

/** The order of refusals in docs/reference/workload-identity.md#rules. */

let identity: TestIdentity;
before(async () => {
  identity = await startWorkloads();
});
after(() => identity.close());

const { store, ofKind, closedAudiences } = storeFaults(() => identity);

async function withRule(body?: object): Promise<Attempt> {
  const { tenantId, key, principalId } = await makeWorkloadRealm(identity);
  return attemptOf({ tenantId, key, ruleKey: 'release', principalId }, body);
}

async function withNewRule(): Promise<Attempt> {
  const attempt = await withRule();
  attempt.body = {
    key: 'another',
    principalId: attempt.ids['principalId'],
    claims: { repository_id: { equals: '1' } },
    audiences: ['control-plane'],
  };
  return attempt;
}

const shared = fault(
  'a list',
  withFields({ claims: { ref: { equals: 'refs/heads/main' } } }),
  'claims that strangers share',
);
const stateFaults = [
  shared,
  fault('principal_not_found', withFields({ principalId: '00000000-0000-4000-8000-000000000000' })),
  fault('workload_principal_required', ofKind('human')),
  fault('unknown_audience', closedAudiences),
  fault('invalid_scope_ceiling', withFields({ scopeCeiling: ['unknown'] })),
];
const ruleFaults = [...tenantFaults, fault('workload_rule_not_found', absent('ruleKey'))];

const orders: CheckOrder[] = [
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers/{key}/workload-rules',
    prepare: withNewRule,
    faults: [
      ...tenantFaults,
      fault('identity_provider_not_found', absent('key')),
      fault(
        'workload_provider_required',
        ({ ids }) => store`
          update identity_providers set principal_kind = 'human'
          where tenant_id = ${ids['tenantId']} and issuer = ${githubIssuer}`,
      ),
      ...stateFaults,
      fault('too_many_workload_rules', ({ ids }) => fill(ids['tenantId'] ?? '')),
      fault('workload_rule_exists', withFields({ key: 'release' })),
    ],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}',
    prepare: () => withRule({ claims: { repository_id: { equals: '1' } } }),
    faults: [...ruleFaults, ...stateFaults],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}:disable',
    prepare: () => withRule(),
    proven: tenantFaults,
    faults: ruleFaults,
  },
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}:enable',
    prepare: () => withRule(),
    proven: tenantFaults,
    faults: ruleFaults,
  },
  {
    endpoint: 'DELETE /tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}',
    prepare: () => withRule(),
    proven: tenantFaults,
    faults: ruleFaults,
  },
];

/** Creates the maximum number of rules of a provider. */
const fill = (tenantId: string) =>
  identity.pool.run(sql`
    insert into workload_rules (id, tenant_id, identity_provider_id, key, principal_id, claims, audiences, scope_ceiling,
      single_use, lifetime_seconds_max)
    select gen_random_uuid(), tenant_id, identity_provider_id, 'rule ' || n, principal_id, claims, audiences,
      scope_ceiling, single_use, lifetime_seconds_max
    from workload_rules, generate_series(1, 99) as n where tenant_id = ${tenantId}`);

orderTests(() => identity, orders);
