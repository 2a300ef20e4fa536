import { randomUUID } from 'node:crypto';
import { sql } from '@baton/kernel/database/sql';
import { type Attempt, adminFaults, type Fault, fault } from './check-order.ts';
import type { TestIdentity } from './identity.ts';

/** Faults that many endpoints share. */

/** Replaces the id or name of the object in the path. */
export const absent = (name: string) => (attempt: Attempt) => {
  attempt.ids[name] = randomUUID();
};

export const without = (header: string) => (attempt: Attempt) => {
  delete attempt.headers[header];
};

/** Fields that replace those of the body. */
export const withFields = (fields: object) => (attempt: Attempt) => {
  attempt.body = { ...attempt.body, ...fields };
};

export const malformed = (name: string): Fault =>
  fault(
    'a list',
    ({ ids }) => {
      ids[name] = 'no-uuid';
    },
    'path',
  );

export const longReason = fault(
  'a list',
  (attempt: Attempt) => {
    attempt.query = `?reason=${'x'.repeat(201)}`;
  },
  'reason',
);

export const tenantFaults: readonly Fault[] = [...adminFaults, malformed('tenantId')];
export const unknownTenant = fault('tenant_not_found', absent('tenantId'));

/** Changes to the database that no endpoint can make, at least at this point. */
export function storeFaults(identity: () => TestIdentity) {
  const store = (...statement: Parameters<typeof sql>) => identity().pool.run(sql(...statement));
  return {
    store,
    closedTenant: ({ ids }: Attempt) =>
      store`update tenants set status = 'disabled' where id = ${ids['tenantId']}`,
    noMember: ({ ids }: Attempt) =>
      store`update memberships set status = 'disabled' where principal_id = ${ids['principalId']}`,
    pausedPrincipal: ({ ids }: Attempt) =>
      store`update principals set status = 'paused' where id = ${ids['principalId']}`,
    ofKind:
      (kind: string) =>
      ({ ids }: Attempt) =>
        store`update principals set kind = ${kind} where id = ${ids['principalId']}`,
    closedAudiences: ({ ids }: Attempt) =>
      store`update audiences set status = 'disabled' where tenant_id = ${ids['tenantId']}`,
    revokedToken: ({ ids }: Attempt) =>
      store`update platform_access_tokens set revoked_at = now() where id = ${ids['credentialId']}`,
    expiredToken: ({ ids }: Attempt) =>
      store`update platform_access_tokens set expires_at = now() - interval '1 ms' where id = ${ids['credentialId']}`,
  };
}
