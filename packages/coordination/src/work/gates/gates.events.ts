import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const approvalRequested = defineEvent(
  'approval.requested',
  'approval',
  z.strictObject({
    taskId: Uuid.nullable(),
    artifactId: Uuid.nullable(),
    requiredRoleId: Uuid.nullable(),
    assignedPrincipalId: Uuid.nullable(),
    gate: z.boolean(),
    workspaceId: Uuid.nullable(),
    taskPublicId: z.string().nullable(),
    taskTitle: z.string().nullable(),
    requestedBy: Uuid,
    comment: z.string(),
    /** The digest of the snapshot. The snapshot itself is part of the approval. */
    subjectDigest: z.string(),
    supersedesApprovalId: Uuid.nullable(),
  }),
  2,
);
