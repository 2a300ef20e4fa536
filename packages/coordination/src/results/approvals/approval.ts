import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import {
  changedFields,
  type PresentSubject,
  type StoredSubject,
  SubjectSnapshot,
  snapshotDigest,
} from '../../work/gates/subject.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import type { ListedApprovalRow } from './approvals.sql.ts';

export const approvalStatuses = ['pending', 'approved', 'rejected', 'cancelled'] as const;
export const outcomeStatuses = ['pending', 'deferred', 'executed', 'failed'] as const;
export const commentCharactersMax = 4000;
const excludedMax = 100;
const subjectDigestCharactersMax = 100;

const Digest = z.string().meta({
  description: "SHA-256 of the snapshot's canonical JSON: `sha256:` and 64 hexadecimal digits.",
  examples: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
});

/** A recorded state of an approval's subject. */
const ApprovalSubject = z
  .strictObject({
    taskVersion: z.int().nullable(),
    artifactSha256: z.string().nullable(),
    digest: Digest,
    snapshot: SubjectSnapshot,
  })
  .meta({ id: 'ApprovalSubject' });
type ApprovalSubject = z.infer<typeof ApprovalSubject>;

const subjectChanged = z.boolean().meta({
  description:
    'Whether the task, or the outcome of the decision, has changed since the subject was recorded.',
});

const common = {
  id: Uuid,
  tenantId: Uuid,
  workspaceId: Uuid.nullable(),
  taskId: Uuid.nullable(),
  artifactId: Uuid.nullable(),
  requestedByPrincipalId: Uuid,
  status: z.enum(approvalStatuses),
  gate: z.boolean(),
  verificationId: Uuid.nullable().meta({ description: 'The verification attempt that requests it.' }),
  checkKey: z.string().nullable().meta({ description: 'The check of that attempt.' }),
  requiredRoleId: Uuid.nullable(),
  assignedPrincipalId: Uuid.nullable(),
  excludedPrincipals: z.array(Uuid),
  decisionByPrincipalId: Uuid.nullable(),
  decisionAt: Timestamp.nullable(),
  comment: z.string().meta({ description: "The requester's question." }),
  decisionComment: z
    .string()
    .nullable()
    .meta({ description: 'The comment of the principal that decided or cancelled the approval.' }),
  outcomeStatus: z
    .enum(outcomeStatuses)
    .nullable()
    .meta({ description: "Progress of the actions that the task's type declares for this decision." }),
  supersedesApprovalId: Uuid.nullable().meta({
    description: 'The approval that this one replaces, because its subject was changed after the decision.',
  }),
  version: z.int(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/** The fields of an approval in lists. */
export const ListedApproval = z
  .strictObject({ ...common, subject: z.strictObject({ digest: Digest }).nullable(), subjectChanged })
  .meta({ id: 'ListedApproval' });
export type ListedApproval = z.infer<typeof ListedApproval>;

/**
 * A request for a person's decision, and its outcome. A gate puts its task on hold until the decision. See
 * docs/reference/approvals.md.
 */
export const Approval = z
  .strictObject({
    ...common,
    subject: ApprovalSubject.nullable().meta({
      description:
        'The subject as recorded with the request; after the decision, the decided subject. `null` for approvals ' +
        'requested before subjects were recorded.',
    }),
    requestedSubject: ApprovalSubject.nullable().meta({
      description: 'The subject of the request, if a later one was decided.',
    }),
    subjectChanged,
    changedFields: z.array(z.string()).meta({
      description: 'Fields of the snapshot that have another value now, such as `customFields`.',
    }),
    current: ApprovalSubject.nullable().meta({
      description: 'The current subject, if it has changed. Also null if it is now larger than 64 KiB.',
    }),
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

const comment = z.string().max(commentCharactersMax).nullish();

export const ApprovalDecision = z
  .strictObject({
    comment,
    subjectDigest: z.string().max(subjectDigestCharactersMax).nullish().meta({
      description:
        'Digest of the subject shown to the decider. Required if the subject has changed since the request.',
    }),
  })
  .meta({ id: 'ApprovalDecision' });
export type ApprovalDecision = z.output<typeof ApprovalDecision>;

export const ApprovalCancellation = z.strictObject({ comment }).meta({ id: 'ApprovalCancellation' });

const commonOf = wireMapper<ListedApprovalRow>()(z.strictObject(common), {});

/** Builds the record of an approval and compares it with its current subject. */
export function approvalOf(row: ApprovalRow, present: PresentSubject): Approval {
  const { subject, requested_subject: requested, subject_digest: digest } = row;
  const isChanged = digest === null || present.subject?.digest !== digest;
  return {
    ...commonOf(row),
    subject: subject === null || digest === null ? null : subjectOf(subject, digest),
    requestedSubject: requested === null ? null : subjectOf(requested, snapshotDigest(requested.snapshot)),
    subjectChanged: isChanged,
    changedFields: isChanged ? changedFields(subject, present) : [],
    current: isChanged && present.subject ? subjectOf(present.subject, present.subject.digest) : null,
  };
}

/** Builds the record of an approval in a list and compares it with its current subject. */
export function listedApprovalOf(row: ListedApprovalRow, presentDigest: string | undefined): ListedApproval {
  const { subject_digest: digest } = row;
  return {
    ...commonOf(row),
    subject: digest === null ? null : { digest },
    subjectChanged: digest === null || digest !== presentDigest,
  };
}

function subjectOf(
  { taskVersion, artifactSha256, snapshot }: StoredSubject,
  digest: string,
): ApprovalSubject {
  return { taskVersion, artifactSha256, digest, snapshot };
}
