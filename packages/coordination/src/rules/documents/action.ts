import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { AcceptanceCheck, parseAcceptance } from '../../definitions/acceptance/acceptance.ts';
import { describeOnly } from '../../definitions/acceptance/parsed-document.ts';
import { findConditionFault, isPath, rootOf } from '../../definitions/declared-actions/condition.ts';
import { AnyJson } from './any-json.ts';
import { conditionBounds } from './condition.ts';
import { type Fault, parseRuleDocument, refuseFaults } from './faults.ts';
import { findTemplateFault, isTemplate, textsIn } from './template.ts';
import type { RuleTrigger } from './trigger.ts';

export const itemsMax = 50;
export const titleCharactersMax = 500;
export const descriptionCharactersMax = 10_000;
export const dedupKeyCharactersMax = 500;
const fieldNamesMax = 32;
const relationsMax = 50;
const acceptanceMax = 50;

export const actionKinds = [
  'ensure_work',
  'update_work',
  'cancel_work',
  'complete_work',
  'request_decision',
] as const;
export type ActionKind = (typeof actionKinds)[number];
/** The kinds of actions that create a task. */
export const creatingKinds: readonly ActionKind[] = ['ensure_work', 'request_decision'];
/** The kinds of actions that close a task. */
export const closingKinds: readonly ActionKind[] = ['cancel_work', 'complete_work'];

const short = z.string().min(1).max(500);
const typeKey = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const ref = z.string().min(1).max(200);

const Fields = z.strictObject({
  title: z.string().min(1).max(titleCharactersMax).optional(),
  description: z.string().max(descriptionCharactersMax).optional(),
  priority: short.optional(),
  assignee: short
    .optional()
    .meta({ description: 'A UUID, `agent:<key>`, or `role:<slug>` for the holders of a role.' }),
  approver: short.optional().meta({ description: 'The principal that decides.' }),
  approverRole: short.optional().meta({ description: 'The role, by id or slug, whose holders decide.' }),
  workspaceId: short.optional(),
  customFields: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/), AnyJson)
    .refine(
      (fields) => Object.keys(fields).length <= fieldNamesMax,
      `must have at most ${fieldNamesMax} names`,
    )
    .optional(),
  relations: z
    .strictObject({
      spawnedBy: ref.optional(),
      dependsOn: z.union([ref, z.array(ref).max(relationsMax)]).optional(),
    })
    .optional(),
});

/** The action of a rule (docs/reference/rules.md#action); every string may contain placeholders. */
export const RuleAction = z
  .strictObject({
    kind: z.enum(actionKinds),
    taskType: z.string().min(1).max(200).optional(),
    taskTypes: z.array(z.string().regex(typeKey)).min(1).max(20).optional(),
    dedupKeyTemplate: z.string().min(1).max(200).optional().meta({
      description:
        'The template of the key; each key has at most one open task. Without a template, each cause and each item of a forEach gets a unique key.',
    }),
    fields: Fields.optional(),
    acceptance: z.array(describeOnly(AcceptanceCheck)).max(acceptanceMax).optional(),
    check: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/)
      .optional()
      .meta({ description: 'The check for which the cause is evidence; `rule-evidence` when absent.' }),
    target: z.enum(['dedup', 'task']).optional(),
    forEach: z
      .string()
      .max(1100)
      .optional()
      .meta({ description: 'The path of a list; the action runs once per item.' }),
    where: AnyJson.optional().meta({ description: 'A condition that selects items.' }),
  })
  .meta({ id: 'RuleAction' });
export type RuleAction = z.infer<typeof RuleAction>;

export const defaultCheck = 'rule-evidence';
/** The roots that every template of an action may read. */
const actionRoots = ['trigger', 'payload', 'goal', 'task'];

/** The roots of an action's templates; `skill` for a rule with an interpretation, `item` inside forEach. */
export function rootsOfAction(
  { forEach }: Pick<RuleAction, 'forEach'>,
  hasInterpretation: boolean,
): string[] {
  return [
    ...actionRoots,
    ...(hasInterpretation ? ['skill'] : []),
    ...(forEach === undefined ? [] : ['item']),
  ];
}

/**
 * Parses an action, and validates what can be validated without the store.
 * @throws Refusal `invalid_rule_action` with the field and, for a fault in `acceptance`, with `cause`; those of
 * documents
 */
export function parseAction(sent: unknown, trigger: RuleTrigger, hasInterpretation: boolean): RuleAction {
  const code = 'invalid_rule_action';
  const action = parseRuleDocument(RuleAction, sent, 'action', code);
  refuseFaults(code, [
    ...faultsOfKind(action),
    ...faultsOfTarget(action, trigger),
    ...faultsOfItems(action, hasInterpretation),
    ...faultsOfTexts(action, hasInterpretation),
  ]);
  refuseWrongAcceptance(action);
  return action;
}

const fault = (name: string, message: string): Fault => ({ field: `action.${name}`, message });

function faultsOfKind(action: RuleAction): Fault[] {
  const { kind, taskType, taskTypes, fields = {}, acceptance, check } = action;
  const faults: Fault[] = [];
  const creates = creatingKinds.includes(kind);
  if (creates && taskType === undefined) faults.push(fault('taskType', `is required for ${kind}`));
  if (!creates && taskType !== undefined)
    faults.push(fault('taskType', `is only allowed for kinds that file tasks`));
  if (!creates && acceptance !== undefined)
    faults.push(fault('acceptance', 'is only allowed for kinds that file tasks'));
  if (check !== undefined && kind !== 'complete_work')
    faults.push(fault('check', 'is only allowed for complete_work'));
  faults.push(...faultsOfType(kind, taskType, taskTypes));
  if (creates && fields.title === undefined) faults.push(fault('fields.title', `is required for ${kind}`));
  if (closingKinds.includes(kind) && action.fields !== undefined)
    faults.push(fault('fields', `is not allowed for ${kind}`));
  if (kind === 'update_work' && Object.keys(fields).length === 0)
    faults.push(fault('fields', 'must name at least one field to change'));
  if (!creates && fields.relations !== undefined)
    faults.push(fault('fields.relations', 'is only allowed for kinds that file tasks'));
  return [...faults, ...faultsOfDecision(kind, fields)];
}

function faultsOfType(kind: ActionKind, taskType = '', taskTypes: readonly string[] | undefined): Fault[] {
  if (isTemplate(taskType)) {
    if (kind === 'request_decision') return [fault('taskType', 'must be literal for request_decision')];
    return taskTypes === undefined ? [fault('taskTypes', 'is required where taskType is a template')] : [];
  }
  if (taskTypes !== undefined) return [fault('taskTypes', 'is only allowed where taskType is a template')];
  const isMalformed = taskType !== '' && !taskType.includes('{{') && !typeKey.test(taskType);
  return isMalformed ? [fault('taskType', 'must be the key of a task type')] : [];
}

function faultsOfDecision(kind: ActionKind, { approver, approverRole }: z.infer<typeof Fields>): Fault[] {
  const named = [approver, approverRole].filter((one) => one !== undefined).length;
  if (kind === 'request_decision' && named !== 1)
    return [fault('fields.approver', 'exactly one of approver and approverRole is required')];
  if (kind !== 'request_decision' && named > 0)
    return [fault('fields.approver', 'approver and approverRole are only allowed for request_decision')];
  return [];
}

function faultsOfTarget(
  { kind, target, dedupKeyTemplate, forEach }: RuleAction,
  trigger: RuleTrigger,
): Fault[] {
  if (!closingKinds.includes(kind) && target !== undefined)
    return [fault('target', 'is only allowed for kinds that close tasks')];
  if (target !== 'task') {
    const isNeeded = !creatingKinds.includes(kind) && dedupKeyTemplate === undefined;
    return isNeeded ? [fault('dedupKeyTemplate', `is required for ${kind}`)] : [];
  }
  if (dedupKeyTemplate !== undefined) return [fault('dedupKeyTemplate', 'is not allowed for target task')];
  if (forEach !== undefined) return [fault('forEach', 'is not allowed for target task')];
  return isAuthorFiltered(trigger)
    ? []
    : [
        fault(
          'target',
          'task requires a trigger with agent or actorId: otherwise any observation could close tasks',
        ),
      ];
}

/** Whether the trigger restricts the authors that can cause an evaluation. */
export function isAuthorFiltered(trigger: RuleTrigger): boolean {
  return trigger.kind === 'observation' && (trigger.agent !== undefined || trigger.actorId !== undefined);
}

function faultsOfItems({ forEach, where }: RuleAction, hasInterpretation: boolean): Fault[] {
  const roots = rootsOfAction({ forEach: undefined }, hasInterpretation);
  if (forEach !== undefined && !(isPath(forEach) && roots.includes(rootOf(forEach))))
    return [fault('forEach', `must be a path that begins with one of ${roots.join(', ')}`)];
  if (where === undefined) return [];
  if (forEach === undefined) return [fault('where', 'is only allowed with forEach')];
  const wrong = findConditionFault(where, conditionBounds([...roots, 'item']));
  return wrong === undefined ? [] : [fault('where', wrong)];
}

function faultsOfTexts(action: RuleAction, hasInterpretation: boolean): Fault[] {
  const roots = rootsOfAction(action, hasInterpretation);
  return collectActionTexts(action).flatMap(({ field, text }) => {
    const message = findTemplateFault(text, roots);
    return message === undefined ? [] : [{ field, message }];
  });
}

/** The strings of an action that may contain placeholders. */
export function collectActionTexts({ taskType, dedupKeyTemplate, fields = {} }: RuleAction) {
  return [
    ...textsIn(taskType ?? null, 'action.taskType'),
    ...textsIn(dedupKeyTemplate ?? null, 'action.dedupKeyTemplate'),
    ...textsIn(fields, 'action.fields'),
  ];
}

/** Checks that a task type adds by itself are validated when a task is created. */
function refuseWrongAcceptance({ acceptance }: RuleAction): void {
  if (acceptance === undefined) return;
  try {
    parseAcceptance(acceptance, []);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const field = String(error.details['field'] ?? 'acceptance');
    const cause = { code: error.code, details: error.details };
    const refused = fault(field, error.code);
    refuseFaults('invalid_rule_action', [{ ...refused, cause } as Fault]);
  }
}
