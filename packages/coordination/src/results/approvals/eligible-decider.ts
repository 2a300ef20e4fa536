import { z } from 'zod';
import { Uuid } from '@baton/values/wire';

/** Maximum number of people, and of roles, in one response. */
export const shownMax = 20;

/** The possible addressees of an approval request for a task. */
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
          'For `requiredRoleId`: roles that at least one such person holds in the tenant, in the workspace of the ' +
          'task or in an ancestor. Sorted by slug.',
      }),
    hasMore: z.boolean().meta({ description: 'Whether more people or roles exist than listed.' }),
  })
  .meta({ id: 'EligibleDeciders' });
export type EligibleDeciders = z.infer<typeof EligibleDeciders>;
