import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';

/** A local decision that differs from the decision point's. See docs/reference/authorization.md#shadow. */
export const AuthzDifference = z
  .strictObject({
    at: Timestamp,
    endpoint: z.string().describe('The operation that checked the permission.'),
    principalId: Uuid,
    action: z.string(),
    resource: z.string().describe('The object of the check: `task:<id>`.'),
    local: z.boolean().describe('The decision of this service, which applied.'),
    point: z.boolean().describe('The decision of the decision point.'),
    reasonCode: z.string(),
    decisionId: z.string().nullable(),
  })
  .meta({ id: 'AuthzDifference' });
export type AuthzDifference = z.infer<typeof AuthzDifference>;

export const AuthzDifferences = z
  .strictObject({
    mode: z.enum(['local', 'shadow', 'policy']),
    items: z.array(AuthzDifference).max(1000).describe('The newest first.'),
    nextCursor: z.null(),
    total: z
      .int()
      .describe(
        "The total since this process started, or since the tenant's differences were dropped in favor of other tenants.",
      ),
  })
  .meta({ id: 'AuthzDifferences' });
export type AuthzDifferences = z.infer<typeof AuthzDifferences>;

const keptPerTenantMax = 1000;
const tenantsMax = 50;

interface OfTenant {
  /** A ring buffer: `next` is the index of the next write. */
  readonly kept: AuthzDifference[];
  next: number;
  total: number;
}

/** The newest differences per tenant in this process. */
export class Differences {
  readonly #tenants = new Map<string, OfTenant>();

  add(tenantId: string, difference: AuthzDifference): void {
    const ring = this.#tenants.get(tenantId) ?? { kept: [], next: 0, total: 0 };
    // Reinserted at the end, so that the tenant whose latest difference is oldest is dropped first.
    this.#tenants.delete(tenantId);
    if (this.#tenants.size >= tenantsMax) this.#tenants.delete(this.#tenants.keys().next().value as string);
    this.#tenants.set(tenantId, ring);
    ring.kept[ring.next] = difference;
    ring.next = (ring.next + 1) % keptPerTenantMax;
    ring.total += 1;
  }

  /** The newest first, with their total. */
  of(tenantId: string): Pick<AuthzDifferences, 'items' | 'total'> {
    const { kept, next, total } = this.#tenants.get(tenantId) ?? { kept: [], next: 0, total: 0 };
    return { items: [...kept.slice(next), ...kept.slice(0, next)].reverse(), total };
  }
}
