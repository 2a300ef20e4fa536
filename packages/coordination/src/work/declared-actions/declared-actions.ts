import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import type { JsonObject } from '@baton/values/wire';
import type { CompletionAction, DeclaredComment } from '../../definitions/declared-actions/actions.ts';
import {
  type Lookup,
  UnresolvedExpression,
  valueOfText,
} from '../../definitions/declared-actions/expressions.ts';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import { holds } from '../../service/permissions.ts';
import { createTaskComment } from '../comments/comments.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { Task } from '../tasks/task.ts';
import { parseTaskRef, type TaskRef } from '../tasks/task-ref.ts';
import { ActionFault } from './action-fault.ts';
import { ensureWork, resolveText } from './ensure-work.ts';

export const actionStatuses = ['executed', 'failed', 'skipped', 'not_executed'] as const;

/** The result of a declared action (docs/reference/approvals.md#outcomes). */
export interface ActionResult {
  readonly index: number;
  /** `ensureWork`, `comment`, `completeTask` or `transition`. */
  readonly action: string;
  readonly status: (typeof actionStatuses)[number];
  readonly attempts: number;
  readonly result: JsonObject | null;
  readonly error: { code: string; details: JsonObject } | null;
}

/** The result as recorded in an event: the ids of the created objects, and the code of a failure. */
export const ActionSummary = z.strictObject({
  index: z.int(),
  action: z.string(),
  status: z.enum(actionStatuses),
  taskId: z.string().optional(),
  code: z.string().optional(),
});

export function summaryOf({
  index,
  action,
  status,
  result,
  error,
}: ActionResult): z.input<typeof ActionSummary> {
  const taskId = result?.['taskId'];
  return {
    index,
    action,
    status,
    ...(typeof taskId === 'string' && { taskId }),
    ...(error !== null && { code: error.code }),
  };
}

/** The kind of a declared action: the name of its only member. */
export function kindOf(declared: object): string {
  return Object.keys(declared)[0] ?? '';
}

/** Executes an action that a type can declare both for completed tasks and for decisions. */
export async function executeDeclaredAction(
  context: Context,
  task: Task,
  declared: CompletionAction,
  lookup: Lookup,
): Promise<JsonObject> {
  if ('ensureWork' in declared) return ensureWork(context, task, declared.ensureWork, lookup);
  return comment(context, task, declared.comment, lookup);
}

async function comment(
  context: Context,
  task: Task,
  declared: DeclaredComment,
  lookup: Lookup,
): Promise<JsonObject> {
  if (!holds(context.caller.permissions, 'tasks.write'))
    fail('permission_denied', { required: ['tasks.write'] });
  const ref = await targetOf(task, declared.task, lookup);
  const { id, taskId } = await createTaskComment(context, ref, {
    body: await resolveText(declared.body, lookup),
  });
  return { commentId: id, taskId };
}

/** The target of an action: the specified task, or by default the task itself. */
export async function targetOf(task: Task, named: string | undefined, lookup: Lookup): Promise<TaskRef> {
  if (named === undefined) return { id: task.id, number: null };
  const value = await valueOfText(named, lookup);
  return parseTaskRef(typeof value === 'string' ? value : '');
}

/**
 * Executes one action in a savepoint: a failure rolls back its own writes only.
 * @returns its result or its failure; a database failure is thrown
 */
export async function attemptAction(
  context: Context,
  act: () => Promise<JsonObject>,
): Promise<Pick<ActionResult, 'result' | 'error'>> {
  return undoOnFailure<Pick<ActionResult, 'result' | 'error'>>(
    context,
    async () => ({ result: await act(), error: null }),
    (error) => ({ result: null, error: faultOf(context, error) }),
  );
}

function faultOf(context: Context, error: unknown): NonNullable<ActionResult['error']> {
  if (error instanceof UnresolvedExpression)
    return { code: 'unresolved_expression', details: { expression: error.message } };
  if (error instanceof ActionFault) return { code: error.code, details: error.details };
  if (error instanceof Refusal) return { code: error.code, details: error.details as JsonObject };
  context.log.error({ err: error }, 'a declared action failed');
  return { code: 'internal_error', details: {} };
}
