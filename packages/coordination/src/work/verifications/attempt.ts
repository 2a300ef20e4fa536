import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, Timestamp, Uuid } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/acting.ts';
import { AcceptanceCheck } from '../../definitions/acceptance/acceptance.ts';
import type { Tables } from '../../service/schema.ts';

export const openStatuses = ['running', 'waiting_human', 'waiting_external'] as const;
const attemptStatuses = [...openStatuses, 'passed', 'failed', 'cancelled'] as const;
export type AttemptStatus = (typeof attemptStatuses)[number];

const attemptTriggers = ['complete', 'run', 'approval', 'rule'] as const;
export type AttemptTrigger = (typeof attemptTriggers)[number];

/** Whose check it is: one that a required output of the type implies, one of the type, one of the task. */
export const checkSources = ['output', 'type', 'task'] as const;

/** A check as an attempt keeps it: as it was when the attempt was opened. */
export const AttemptCheck = AcceptanceCheck.extend({ key: z.string(), source: z.enum(checkSources) });
export type AttemptCheck = z.infer<typeof AttemptCheck>;

/** Evidence that a check was offered and that doesn't count, because whoever it is from may not prove the check. */
export type NotCounted = {
  /** `external:ci/12`, `observation:<id>`, `event:<id>` and the like. */
  readonly evidence: string;
  /** Whom it is from; null for an author that nobody knows. */
  readonly principalId: string | null;
  readonly reason: 'not_a_prover';
};

/** What came of one check, or of the one that waits although evidence was offered. */
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
 * An attempt to verify that a task is done (core, section 8.8). Its checks are shown without their specs, and with the
 * first 200 characters of their descriptions.
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

/** The newest attempt, as the task itself shows it. */
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

/** What a list reads of an attempt: not its credential, nor the specs of its checks. */
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

/** The check that waits, where something was offered as proof of it that doesn't count. */
function waitingResultOf({ checks, cursor, finished_at, not_counted }: ListedAttemptRow): CheckResult[] {
  const check = checks[cursor];
  if (finished_at !== null || check === undefined || not_counted.length === 0) return [];
  const { key, kind, source } = check;
  const details = { notCounted: not_counted };
  return [{ key, kind, source, status: 'waiting', evidence: [], reason: 'not_a_prover', details }];
}
