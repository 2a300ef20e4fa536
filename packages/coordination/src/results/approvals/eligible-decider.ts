import { z } from 'zod';
import { Uuid } from '@baton/values/wire';

/** People, and roles, that one answer lists. */
export const shownMax = 20;

/** Whom a request for approval of a task can be addressed to. */
export const EligibleDeciders = z
  .strictObject({
    people: z
      .array(z.strictObject({ id: Uuid, displayName: z.string() }))
      .max(shownMax)
      .meta({ description: 'For `assignedPrincipalId`. The owner of the task comes first, then by name.' }),
    roles: z
      .array(z.strictObject({ id: Uuid, slug: z.string(), name: z.string() }))
      .max(shownMax)
      .meta({
        description:
          'For `requiredRoleId`: roles that at least one such person holds in the tenant, in the workspace of the task or above it. By slug.',
      }),
    hasMore: z.boolean().meta({ description: 'Whether there are more people or roles than listed.' }),
  })
  .meta({ id: 'EligibleDeciders' });
export type EligibleDeciders = z.infer<typeof EligibleDeciders>;
