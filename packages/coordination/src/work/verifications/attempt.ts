import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, Timestamp, Uuid } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import { AcceptanceCheck } from '../../definitions/acceptance/acceptance.ts';
import type { Tables } from '../../service/schema.ts';

export const openStatuses = ['running', 'waiting_human', 'waiting_external'] as const;
const attemptStatuses = [...openStatuses, 'passed', 'failed', 'cancelled'] as const;
export type AttemptStatus = (typeof attemptStatuses)[number];

const attemptTriggers = ['complete', 'run', 'approval', 'rule'] as const;
export type AttemptTrigger = (typeof attemptTriggers)[number];

/** The source of a check: implied by a required output of the type, or defined by the type or the task. */
export const checkSources = ['output', 'type', 'task'] as const;

/** A check as stored with an attempt: as it was when the attempt was opened. */
export const AttemptCheck = AcceptanceCheck.extend({ key: z.string(), source: z.enum(checkSources) });
export type AttemptCheck = z.infer<typeof AttemptCheck>;

/** Evidence that doesn't count for a check, because its author may not provide evidence for the check. */
export type NotCounted = {
  /** A reference such as `external:ci/12`, `observation:<id>` or `event:<id>`. */
  readonly evidence: string;
  /** The author of the evidence; null if unknown. */
  readonly principalId: string | null;
  readonly reason: 'not_a_prover';
};

/** The result of a check; for the pending check, only if evidence for it was not counted. */
export const CheckResult = z.strictObject({
  key: z.string(),
  kind: AcceptanceCheck.shape.kind,
  source: z.enum(checkSources),
  status: z.enum(['passed', 'skipped', 'failed', 'cancelled', 'waiting']),
  evidence: z.array(z.string()),
  reason: z.string().nullable(),
  message: z.string().optional(),
  details: FreeObject.optional(),
});
export type CheckResult = z.infer<typeof CheckResult>;

/**
 * An attempt to verify that a task is done (docs/reference/completion.md#verification-attempts). Its checks are
 * returned without their specs, and with the first 200 characters of their descriptions.
 */
export const TaskVerification = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    taskId: Uuid,
    authorityPrincipalId: Uuid,
    attempt: z.int(),
    status: z.enum(attemptStatuses),
    trigger: z.enum(attemptTriggers),
    triggerRef: z.string().nullable(),
    checks: z.array(AttemptCheck.pick({ key: true, kind: true, description: true, source: true })),
    results: z.array(CheckResult),
    cursor: z.int(),
    skillInvocationId: Uuid.nullable(),
    approvalId: Uuid.nullable(),
    nextCheckAt: Timestamp.nullable(),
    finishedAt: Timestamp.nullable(),
    startedAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'TaskVerification' });
export type TaskVerification = z.infer<typeof TaskVerification>;

/** The newest attempt, as returned with the task. */
export const TaskVerificationSummary = TaskVerification.pick({
  id: true,
  status: true,
  attempt: true,
  updatedAt: true,
});
export type TaskVerificationSummary = z.infer<typeof TaskVerificationSummary>;

export type AttemptRow = RowOf<
  Tables['verifications'],
  {
    status: AttemptStatus;
    trigger: AttemptTrigger;
    checks: AttemptCheck[];
    results: CheckResult[];
    credential: CredentialSnapshot;
    not_counted: NotCounted[];
  }
>;

/** The columns of an attempt that a list reads: its credential and the specs of its checks are not among them. */
export type ListedAttemptRow = Omit<
  AttemptRow,
  'credential' | 'owns_approval' | 'waiting_since' | 'opened_position' | 'requester_id'
>;

export const attemptOf = wireMapper<ListedAttemptRow>()(TaskVerification, {
  checks: ({ checks }) =>
    checks.map(({ key, kind, description, source }) => ({ key, kind, description, source })),
  results: (row) => [...row.results, ...waitingResultOf(row)],
  nextCheckAt: (row) => (row.finished_at === null ? row.next_check_at : null),
});

/** The result of the pending check, if evidence for it was not counted. */
function waitingResultOf({ checks, cursor, finished_at, not_counted }: ListedAttemptRow): CheckResult[] {
  const check = checks[cursor];
  if (finished_at !== null || check === undefined || not_counted.length === 0) return [];
  const { key, kind, source } = check;
  const details = { notCounted: not_counted };
  return [{ key, kind, source, status: 'waiting', evidence: [], reason: 'not_a_prover', details }];
}
