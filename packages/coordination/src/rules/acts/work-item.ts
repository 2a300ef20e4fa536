import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { Uuid } from '@baton/values/wire';
import type { Evidence } from '../../definitions/acceptance/evidence.ts';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import { holds, type Permission, permittedIds } from '../../service/permissions.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { recordAct } from './acts.sql.ts';
import type { Cause, RuleRoots } from './cause.ts';

/** The outcome of one item of a rule's action (docs/reference/rules.md#evaluations). */
export const WorkItem = z
  .strictObject({
    dedupKey: z.string().nullable(),
    taskId: Uuid.nullable(),
    created: z.boolean(),
    skipped: z.boolean().meta({ description: 'No change was needed; `reason` has the cause.' }),
    failed: z.boolean().meta({ description: 'The item was refused; `refused` has the error code.' }),
    reason: z.string().nullable(),
    refused: z.string().nullable(),
  })
  .meta({ id: 'RuleWorkItem' });
export type WorkItem = z.infer<typeof WorkItem>;

/** The evaluation of one rule for one cause, on behalf of the rule's authority. */
export interface Acting {
  /** The authority's context, in which events name the cause. */
  readonly context: Context;
  readonly rule: RuleRow;
  readonly evaluationId: string;
  readonly cause: Cause;
  readonly evidence: readonly Evidence[];
  readonly chainDepth: number;
  /** The call of the interpretation skill; null if there is none. */
  readonly skillInvocationId: string | null;
  /** The positions of the items in the forEach, starting at 1; null without a forEach. */
  readonly itemNumber: number | null;
  /** The time, as measured by `performance.now()`, after which the remaining items are left to the next turn. */
  readonly untilMs: number;
}

/** The action for one item, with the roots that its templates read. */
export type Act = (acting: Acting, roots: RuleRoots) => Promise<WorkItem>;

/** An item that has no result yet. */
export const untouched: WorkItem = {
  dedupKey: null,
  taskId: null,
  created: false,
  skipped: false,
  failed: false,
  reason: null,
  refused: null,
};

export const skippedFor = (reason: string, item: Partial<WorkItem> = {}): WorkItem => ({
  ...untouched,
  ...item,
  skipped: true,
  reason,
});

/** The code for a closing action on a claimed task: the evaluation waits until the claim ends. */
export const waitingReason = 'task_claimed';

/** Why an item can't be processed, in cases that have no API error code. */
export class ActRefused extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export function refuseAct(code: string): never {
  throw new ActRefused(code);
}

/**
 * External authorization is unavailable: no result is recorded and the whole turn is retried
 * (docs/reference/rules.md#evaluations).
 */
const unavailableCodes: readonly string[] = [
  'policy_unavailable',
  'entitlement_unavailable',
  'verification_unavailable',
  'unavailable',
];

/** Whether the cause of an error is that external authorization was unavailable. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Refusal && unavailableCodes.includes(error.code);
}

/**
 * Runs the action for one item in a savepoint: a refusal rolls back only the item's writes.
 * @throws Error of the store or of the program, and a refusal because external authorization is unavailable
 */
export async function attemptAct(acting: Acting, act: Act, roots: RuleRoots): Promise<WorkItem> {
  return undoOnFailure(
    acting.context,
    () => act(acting, roots),
    (error) => {
      const code = refusedCode(error);
      if (code === undefined) throw error;
      return { ...untouched, failed: true, refused: code };
    },
  );
}

function refusedCode(error: unknown): string | undefined {
  if (error instanceof ActRefused) return error.code;
  if (!(error instanceof Refusal) || isUnavailable(error)) return undefined;
  return error.code;
}

/** Records that the rule acted on a task, so that its consequences continue the chain. */
export async function touch({ context, chainDepth }: Acting, taskId: string): Promise<void> {
  await context.db.run(recordAct(context.tenantId, taskId, chainDepth));
}

/** @throws Refusal `permission_denied`: the authority doesn't have the permission, or has lost it */
export function requirePermission({ caller }: Context, permission: Permission): void {
  if (!holds(caller.permissions, permission)) fail('permission_denied', { required: [permission] });
}

/**
 * @throws Refusal `permission_denied`, also if the authority lacks the permission only on this task, which external
 * authorization decides separately
 */
export function requireOnTask({ caller }: Context, permission: Permission, taskId: string): void {
  if (permittedIds(caller.permissions, permission, 'task', [taskId]).length === 0)
    fail('permission_denied', { required: [permission], resource: `task:${taskId}` });
}
