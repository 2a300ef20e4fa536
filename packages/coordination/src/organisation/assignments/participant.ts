import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { principalKinds, principalStatuses } from '../../access/principals/principal.ts';

/** Who takes part in a workspace: a member, or somebody with a role there (organisation, section 3.2). */
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
