import { z } from 'zod';
import { nodesOf } from '@baton/values/json';
import { FreeObject, type JsonObject, Uuid } from '@baton/values/wire';
import { findTextFault, isOneExpression, type Root } from './expressions.ts';

/**
 * Actions that a task type declares for the decision of a gate or for a completed task
 * (docs/reference/definitions.md#declared-actions).
 */

export const actionsMax = 20;
const customFieldsMax = 32;
const customFieldName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const priorities = ['critical', 'high', 'medium', 'low'];
const workRelations = ['spawned_by', 'parent', 'blocks', 'depends_on', 'related_to'] as const;

/** A text with expressions, with a maximum length before they are resolved. */
export function textWith(roots: readonly Root[], charactersMax: number) {
  return z
    .string()
    .min(1)
    .max(charactersMax)
    .superRefine((text, context) => {
      const fault = findTextFault(text, roots);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    });
}

/** One expression, or a literal that passes the test. */
function textOr(roots: readonly Root[], isLiteral: (text: string) => boolean, message: string) {
  return textWith(roots, 500).refine((text) => isOneExpression(text) || isLiteral(text), message);
}

const isUuid = (text: string) => Uuid.safeParse(text).success;
const isTaskRef = (text: string) => isUuid(text) || /^task-\d{6,15}$/i.test(text);

/** Custom fields whose texts, at every depth, may contain expressions; checkDocument has limited their size. */
function customFieldsWith(roots: readonly Root[]) {
  return z
    .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
    .superRefine((fields, context) => {
      const refuse = (message: string) => context.addIssue({ code: 'custom', message });
      const names = Object.keys(fields);
      if (names.length > customFieldsMax) return refuse(`has more than ${customFieldsMax} fields`);
      if (!names.every((name) => customFieldName.test(name))) return refuse('has a malformed name');
      for (const { value } of nodesOf(fields)) {
        const fault = typeof value === 'string' ? findTextFault(value, roots) : undefined;
        if (fault !== undefined) return refuse(fault);
      }
    });
}

/** `requestApproval` of ensureWork: a gate on the new task. */
function approvalWith(roots: readonly Root[]) {
  const principal = textOr(roots, isUuid, 'must be an id or one expression');
  return z
    .strictObject({
      approver: principal.optional(),
      approverRole: principal.optional(),
      comment: textWith(roots, 4000).optional(),
    })
    .refine(
      ({ approver, approverRole }) => (approver === undefined) !== (approverRole === undefined),
      'needs either approver or approverRole',
    );
}

function ensureWorkWith(roots: readonly Root[]) {
  const text = (max: number) => textWith(roots, max);
  return z.strictObject({
    type: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/),
    key: text(500),
    title: text(2000),
    description: text(10_000).optional(),
    assignee: textOr(roots, isUuid, 'must be an id or one expression').optional(),
    relation: z.enum(workRelations).optional(),
    priority: textOr(roots, (word) => priorities.includes(word), 'must be a priority').optional(),
    workspace: textOr(roots, isUuid, 'must be an id or one expression').optional(),
    customFields: customFieldsWith(roots).optional(),
    requestApproval: approvalWith(roots).optional(),
  });
}
export type EnsureWork = z.infer<ReturnType<typeof ensureWorkWith>>;

function commentWith(roots: readonly Root[]) {
  return z.strictObject({
    body: textWith(roots, 10_000),
    task: textOr(roots, isTaskRef, 'must be a task or one expression').optional(),
  });
}
export type DeclaredComment = z.infer<ReturnType<typeof commentWith>>;

/** An action has exactly one field, which determines its kind. */
function oneOfKinds<Kinds extends Readonly<Record<string, z.ZodType>>>(kinds: Kinds) {
  type Action = { [Kind in keyof Kinds]: { [Name in Kind]: z.output<Kinds[Kind]> } }[keyof Kinds];
  return z.unknown().transform((sent, context): Action => {
    const [[kind, content] = [], ...others] =
      typeof sent === 'object' && sent !== null ? Object.entries(sent) : [];
    const refuse = (message: string, path: readonly PropertyKey[] = []) => {
      context.addIssue({ code: 'custom', message, path: [...path] });
      return z.NEVER;
    };
    if (kind === undefined || others.length > 0) return refuse('must be an object of one member');
    const form = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (form === undefined) return refuse('unknown action', [kind]);
    const result = form.safeParse(content);
    if (result.success) return { [kind]: result.data } as Action;
    const [first] = result.error.issues;
    return refuse(first?.message ?? 'is malformed', [kind, ...(first?.path ?? [])]);
  });
}

/** The actions of a completed task. */
export function completionActionWith(roots: readonly Root[]) {
  return oneOfKinds({ ensureWork: ensureWorkWith(roots), comment: commentWith(roots) });
}
export type CompletionAction = z.output<ReturnType<typeof completionActionWith>>;

function reactionKindsWith(roots: readonly Root[]) {
  const task = textOr(roots, isTaskRef, 'must be a task or one expression').optional();
  return {
    ensureWork: ensureWorkWith(roots),
    comment: commentWith(roots),
    completeTask: z.strictObject({ task }),
    transition: z.strictObject({ status: z.string().min(1).max(64), task }),
  };
}

/** A document whose texts, at every depth, may contain expressions; checkDocument has limited its size. */
function documentWith(roots: readonly Root[]) {
  return FreeObject.superRefine((document, context) => {
    for (const { value } of nodesOf(document)) {
      const fault = typeof value === 'string' ? findTextFault(value, roots) : undefined;
      if (fault !== undefined) return context.addIssue({ code: 'custom', message: fault });
    }
    return undefined;
  });
}

/** A call of a skill, and the actions that follow when it ends. */
function invokeSkillWith(roots: readonly Root[]) {
  const reactions = z
    .array(oneOfKinds(reactionKindsWith([...roots, 'invocation'])))
    .max(actionsMax)
    .optional();
  return z.strictObject({
    skill: z.string().regex(/^[^@]{1,200}(@[^@\s]{1,50})?$/, 'must be name or name@version'),
    inputs: documentWith(roots).optional(),
    expect: FreeObject.optional(),
    onSuccess: reactions,
    onFailure: reactions,
  });
}
export type InvokeSkill = z.output<ReturnType<typeof invokeSkillWith>>;

/** The actions of a decision. */
export function decisionActionWith(roots: readonly Root[]) {
  return oneOfKinds({ ...reactionKindsWith(roots), invokeSkill: invokeSkillWith(roots) });
}
export type DecisionAction = z.output<ReturnType<typeof decisionActionWith>>;
/** An action that takes effect immediately, and may follow a call of a skill. */
export type Reaction = Exclude<DecisionAction, { invokeSkill: unknown }>;
