import type { Approval, ApprovalSubject } from '@baton/sdk';
import { exampleOf } from './service.ts';
import { graceId } from './tasks.ts';

type Snapshot = ApprovalSubject['snapshot'];
type TaskSnapshot = NonNullable<Snapshot['task']>;

const plainTask: TaskSnapshot = {
  title: 'Pay the invoice',
  description: '',
  typeKey: 'task',
  typeVersion: 1,
  priority: 'medium',
  startDate: null,
  dueDate: null,
  customFields: {},
  acceptance: [],
};

/** Returns a subject about a task with only a title. Its digest is derived from the given word. */
export function subjectWith(
  word: string,
  task: Partial<TaskSnapshot> | null = {},
  other: Partial<Snapshot> = {},
): ApprovalSubject {
  const snapshot = { task: task && { ...plainTask, ...task }, artifact: null, outcome: null, ...other };
  return { taskVersion: 3, artifactSha256: null, digest: `sha256:${word}`, snapshot };
}

/** Returns a pending approval whose subject is unchanged. */
export function approvalWith(other: Partial<Approval> = {}): Approval {
  return exampleOf('approvals.get', {
    taskId: null,
    artifactId: null,
    requestedByPrincipalId: graceId,
    status: 'pending',
    gate: false,
    requiredRoleId: null,
    excludedPrincipals: [],
    outcomeStatus: null,
    assignedPrincipalId: null,
    decisionByPrincipalId: null,
    decisionAt: null,
    comment: 'May I?',
    decisionComment: null,
    supersedesApprovalId: null,
    subject: subjectWith('asked'),
    requestedSubject: null,
    subjectChanged: false,
    changedFields: [],
    current: null,
    ...other,
  });
}

/** The fields of an approval whose subject has changed. */
export function changedTo(current: ApprovalSubject, changedFields: readonly string[]): Partial<Approval> {
  return { subjectChanged: true, changedFields: [...changedFields], current };
}
