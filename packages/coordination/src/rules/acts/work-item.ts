import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { Uuid } from '@baton/values/wire';
import type { Evidence } from '../../definitions/acceptance/evidence.ts';
import { undoneOnFailure } from '../../ledger/savepoint.ts';
import { holds, type Permission, permittedIds } from '../../service/permissions.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { noteTouched } from './acts.sql.ts';
import type { Cause, RuleRoots } from './cause.ts';

/** What became of one item of a rule's action (organisation, section 8.4). */
export const WorkItem = z
  .strictObject({
    dedupKey: z.string().nullable(),
    taskId: Uuid.nullable(),
    created: z.boolean(),
    skipped: z.boolean().meta({ description: 'Nothing was to be done; `reason` says why.' }),
    failed: z.boolean().meta({ description: 'It was refused; `refused` is the code.' }),
    reason: z.string().nullable(),
    refused: z.string().nullable(),
  })
  .meta({ id: 'RuleWorkItem' });
export type WorkItem = z.infer<typeof WorkItem>;

/** One rule at one cause, in the name of its authority. */
export interface Acting {
  /** Of the authority: its events follow from the cause. */
  readonly context: Context;
  readonly rule: RuleRow;
  readonly evaluationId: string;
  readonly cause: Cause;
  readonly evidence: readonly Evidence[];
  readonly chainDepth: number;
  /** The call of the skill that was asked; null where none was. */
  readonly skillInvocationId: string | null;
  /** Which of the items of its forEach the action is done for, from 1; null where it has none. */
  readonly itemNumber: number | null;
  /** When to leave the items that are left to the next turn, by `performance.now()`. */
  readonly untilMs: number;
}

/** What is done for one item, with the roots that its templates read. */
export type Act = (acting: Acting, roots: RuleRoots) => Promise<WorkItem>;

/** The item of which nothing is known yet. */
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

/** The code that a closing act answers while somebody works on the task: it waits for that. */
export const waitingReason = 'task_claimed';

/** Why an item can't be done, where no call of the API would be refused for it. */
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

/** A judge outside is away: nothing is recorded, the whole turn is tried again (organisation, section 8.4). */
const unavailableCodes: readonly string[] = [
  'policy_unavailable',
  'entitlement_unavailable',
  'verification_unavailable',
  'unavailable',
];

/** Whether a judge outside was away. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Refusal && unavailableCodes.includes(error.code);
}

/**
 * Does one item so that its refusal undoes what it wrote, and nothing before it.
 * @throws Error of the store or of the program, and a refusal because a judge is away
 */
export async function attemptAct(acting: Acting, act: Act, roots: RuleRoots): Promise<WorkItem> {
  return undoneOnFailure(
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

/** Notes that the rule acted on a task, for the chain of what follows from it. */
export async function touch({ context, chainDepth }: Acting, taskId: string): Promise<void> {
  await context.db.run(noteTouched(context.tenantId, taskId, chainDepth));
}

/** @throws Refusal `permission_denied`: the authority may not, or no longer */
export function requirePermission({ caller }: Context, permission: Permission): void {
  if (!holds(caller.permissions, permission)) fail('permission_denied', { required: [permission] });
}

/** @throws Refusal `permission_denied`: not on this task, which is judged by itself where a decision point says who may */
export function requireOnTask({ caller }: Context, permission: Permission, taskId: string): void {
  if (permittedIds(caller.permissions, permission, 'task', [taskId]).length === 0)
    fail('permission_denied', { required: [permission], resource: `task:${taskId}` });
}
