import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { principalKinds, principalStatuses } from '../../access/principals/principal.ts';

/**
 * A participant of a workspace: a member, or a principal with a role in it. See
 * docs/reference/workspaces.md#participants.
 */
export const Participant = z
  .strictObject({
    principalId: Uuid,
    kind: z.enum(principalKinds),
    displayName: z.string(),
    status: z.enum(principalStatuses),
    member: z.boolean(),
    roles: z.array(
      z.strictObject({
        roleId: Uuid,
        slug: z.string(),
        name: z.string(),
        roleWorkspaceId: Uuid.nullable(),
        assignmentWorkspaceId: Uuid.nullable(),
      }),
    ),
  })
  .meta({ id: 'Participant' });
export type Participant = z.infer<typeof Participant>;
