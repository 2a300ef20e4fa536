import assert from 'node:assert/strict';
import type { TestIdentity } from '../../../testing/identity.ts';
import { auditOf, storeCounts } from '../../../testing/records.ts';
import { type Realm, routes, signInBy } from './sign-in.ts';

/**
 * Asserts that both routes refuse each token with the code. The response must contain only the code, and only one audit
 * row with that code may be stored. @param tokens keyed by a name for messages
 */
export async function assertRefused(
  identity: TestIdentity,
  at: Realm,
  expected: string,
  status: number,
  tokens: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, token] of Object.entries(tokens)) {
    for (const route of routes) {
      const before = (await storeCounts(identity)) as Record<string, number>;
      const answer = await signInBy(identity, at, token, route);
      assert.deepEqual([answer.status, answer.body], [status, { detail: expected }], `${name}, ${route}`);
      for (const header of ['www-authenticate', 'warning', 'location'])
        assert.equal(answer.headers.get(header), null, `${name}, ${route}`);
      const counted = await storeCounts(identity);
      assert.deepEqual(counted, { ...before, audits: (before['audits'] ?? 0) + 1 }, name);
      const { action, actor_ref, resource_type, resource_id, outcome, reason } =
        (await auditOf(identity, at.tenantId)).at(-1) ?? {};
      assert.deepEqual(
        [action, actor_ref, resource_type, resource_id, outcome, reason],
        [`federation.${route}`, `provider:${at.key}`, 'identity_provider', at.providerId, 'denied', expected],
      );
    }
  }
}
