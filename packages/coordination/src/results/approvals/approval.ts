import { z } from 'zod';
import { wireMapper } from '@baton/kernel/row';
import { Timestamp, Uuid } from '@baton/kernel/wire';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';

export const approvalStatuses = ['pending', 'approved', 'rejected', 'cancelled'] as const;
export const outcomeStatuses = ['pending', 'deferred', 'executed', 'failed'] as const;
export const commentCharactersMax = 4000;
const excludedMax = 100;

/** A question to a person, and the answer (core, section 14). A gate holds its task back until then. */
export const Approval = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid.nullable(),
    taskId: Uuid.nullable(),
    artifactId: Uuid.nullable(),
    requestedByPrincipalId: Uuid,
    status: z.enum(approvalStatuses),
    gate: z.boolean(),
    verificationId: Uuid.nullable().meta({ description: 'The attempt of a verification that asks it.' }),
    checkKey: z.string().nullable().meta({ description: 'The check that the decision is about.' }),
    requiredRoleId: Uuid.nullable(),
    assignedPrincipalId: Uuid.nullable(),
    excludedPrincipals: z.array(Uuid),
    decisionByPrincipalId: Uuid.nullable(),
    decisionAt: Timestamp.nullable(),
    comment: z
      .string()
      .meta({ description: "The decider's, once there is one; until then the requester's." }),
    outcomeStatus: z
      .enum(outcomeStatuses)
      .nullable()
      .meta({ description: "How far the acts are that the task's type declares for this decision." }),
    version: z.int(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Approval' });
export type Approval = z.infer<typeof Approval>;

export const ApprovalRequest = z
  .strictObject({
    task: TaskRef.nullish(),
    artifactId: Uuid.nullish(),
    workspaceId: Uuid.nullish(),
    requiredRoleId: Uuid.nullish(),
    assignedPrincipalId: Uuid.nullish(),
    comment: z.string().max(commentCharactersMax).default(''),
    gate: z.boolean().default(false),
    excludedPrincipals: z.array(Uuid).max(excludedMax).nullish(),
  })
  .meta({ id: 'ApprovalRequest' });
export type ApprovalRequest = z.output<typeof ApprovalRequest>;

export const ApprovalDecision = z
  .strictObject({ comment: z.string().max(commentCharactersMax).nullish() })
  .meta({ id: 'ApprovalDecision' });

export const approvalOf = wireMapper<ApprovalRow>()(Approval, {
  comment: ({ comment, decision_comment: decided }) => decided ?? comment,
});
