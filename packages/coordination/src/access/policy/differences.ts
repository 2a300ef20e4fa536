import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';

/** One check that a decision point would decide otherwise (organisation, section 28). */
export const AuthzDifference = z
  .strictObject({
    at: Timestamp,
    endpoint: z.string().describe('The operation that asked.'),
    principalId: Uuid,
    action: z.string(),
    resource: z.string().describe('What it was asked on: `task:<id>`.'),
    local: z.boolean().describe('What this service answered; it stands.'),
    point: z.boolean().describe('What the decision point would have answered.'),
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
      .describe('How many there were since this process began, or since other tenants took their place.'),
  })
  .meta({ id: 'AuthzDifferences' });
export type AuthzDifferences = z.infer<typeof AuthzDifferences>;

const keptPerTenantMax = 1000;
const tenantsMax = 50;

interface OfTenant {
  /** A ring: `next` is where the next one goes. */
  readonly kept: AuthzDifference[];
  next: number;
  total: number;
}

/** The newest differences of this process, of each tenant by itself. */
export class Differences {
  readonly #tenants = new Map<string, OfTenant>();

  add(tenantId: string, difference: AuthzDifference): void {
    const ring = this.#tenants.get(tenantId) ?? { kept: [], next: 0, total: 0 };
    // Moved to the end, so that the tenant whose last one is the oldest is dropped first.
    this.#tenants.delete(tenantId);
    if (this.#tenants.size >= tenantsMax) this.#tenants.delete(this.#tenants.keys().next().value as string);
    this.#tenants.set(tenantId, ring);
    ring.kept[ring.next] = difference;
    ring.next = (ring.next + 1) % keptPerTenantMax;
    ring.total += 1;
  }

  /** The newest first, and how many there were. */
  of(tenantId: string): Pick<AuthzDifferences, 'items' | 'total'> {
    const { kept, next, total } = this.#tenants.get(tenantId) ?? { kept: [], next: 0, total: 0 };
    return { items: [...kept.slice(next), ...kept.slice(0, next)].reverse(), total };
  }
}
