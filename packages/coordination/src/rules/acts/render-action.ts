import type { JsonObject } from '@baton/values/wire';
import {
  ConditionFault,
  holdsCondition,
  valueAt,
} from '../../definitions/declared-actions/evaluate-condition.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { RequirementNames } from '../../work/tasks/requirements.ts';
import { NewTask } from '../../work/tasks/task.ts';
import type { RuleRow } from '../catalog/rule.ts';
import {
  dedupKeyCharactersMax,
  descriptionCharactersMax,
  itemsMax,
  type RuleAction,
  titleCharactersMax,
} from '../documents/action.ts';
import { isTemplate, renderDocument, renderText, renderValue } from '../documents/template.ts';
import type { Cause, RuleRoots } from './cause.ts';
import { refuseAct } from './work-item.ts';

/** The maximum length of a string in custom fields that mixes a placeholder with other text. */
const fieldCharactersMax = 2000;
const wordCharactersMax = 500;
/**
 * Maximum number of steps of `where` for all items of a cause together. An event contains up to about 5,000 items; with
 * a separate limit per item, evaluation could block the process for seconds. 1,000,000 steps take about 10 ms.
 */
const whereStepsMax = 1_000_000;

/**
 * The roots of each item that the action runs for; a single item without the root `item`, if the action has no forEach.
 * @throws ConditionFault if the value is not a list or has more than 50 items, or if `where` takes too many steps
 */
export function itemsOfAction({ forEach, where }: RuleAction, roots: RuleRoots): RuleRoots[] {
  if (forEach === undefined) return [roots];
  const list = valueAt(forEach, roots);
  if (list === null) return [];
  if (!Array.isArray(list)) throw new ConditionFault('forEach must yield a list');
  const steps = { left: whereStepsMax };
  const chosen: RuleRoots[] = [];
  for (const item of list) {
    const ofItem = { ...roots, item };
    if (where === undefined || holdsCondition(where, ofItem, steps)) chosen.push(ofItem);
    if (chosen.length > itemsMax) throw new ConditionFault(`forEach yields more than ${itemsMax} items`);
  }
  return chosen;
}

/** Identifies an item in its key if the action has no template for the key. */
export interface ItemOfCause {
  readonly rule: RuleRow;
  readonly cause: Cause;
  /** The item's number in the forEach, starting at 1; null without a forEach. */
  readonly itemNumber: number | null;
}

/**
 * The key of an item; without a template, a unique key per rule and cause.
 * @throws ActRefused `invalid_dedup_key`
 */
export function dedupKeyOf({ rule, cause, itemNumber }: ItemOfCause, roots: RuleRoots): string {
  const template = rule.action.dedupKeyTemplate;
  if (template === undefined) {
    const ofCause = `rule:${rule.key}:${cause.trigger.ref}`;
    return itemNumber === null ? ofCause : `${ofCause}:${itemNumber}`;
  }
  const rendered = renderText(template, roots, dedupKeyCharactersMax + 1);
  if (rendered.trim() === '' || rendered.length > dedupKeyCharactersMax) refuseAct('invalid_dedup_key');
  return rendered;
}

/** The task fields that an action sets, with their values. */
export interface RenderedFields {
  readonly title?: string;
  readonly description?: string;
  readonly priority?: string;
  readonly assigneeId?: string;
  readonly requirements?: RequirementNames;
  readonly workspaceId?: string;
  readonly customFields?: JsonObject;
}

/**
 * Omits fields whose value is null or empty.
 * @throws ActRefused `payload_too_large` if the custom fields exceed the size of a document
 */
export function renderFields({ fields = {} }: RuleAction, roots: RuleRoots): RenderedFields {
  const word = (text: string | undefined) =>
    text === undefined ? '' : renderText(text, roots, wordCharactersMax).trim();
  const [title, description] = [
    renderText(fields.title ?? '', roots, titleCharactersMax),
    renderText(fields.description ?? '', roots, descriptionCharactersMax),
  ];
  const [priority, assignee, workspaceId] = [
    word(fields.priority),
    word(fields.assignee),
    word(fields.workspaceId),
  ];
  const role = assignee.startsWith('role:') ? assignee.slice('role:'.length) : undefined;
  return {
    ...(title.trim() !== '' && { title }),
    ...(fields.description !== undefined && { description }),
    ...(priority !== '' && { priority }),
    ...(role !== undefined && { requirements: { roles: [role], capabilities: [], skills: [] } }),
    ...(assignee !== '' && role === undefined && { assigneeId: assignee }),
    ...(workspaceId !== '' && { workspaceId }),
    ...(fields.customFields !== undefined && {
      customFields: renderCustomFields(fields.customFields, roots),
    }),
  };
}

function renderCustomFields(fields: JsonObject, roots: RuleRoots): JsonObject {
  const room = { charactersMax: fieldCharactersMax, charactersLeft: documentBytesMax };
  return (renderDocument(fields, roots, room) ?? refuseAct('payload_too_large')) as JsonObject;
}

/** The type of the new task. @throws ActRefused `task_type_not_allowed` for a type that the action doesn't list */
export function renderTaskType({ taskType = '', taskTypes = [] }: RuleAction, roots: RuleRoots): string {
  if (!isTemplate(taskType)) return taskType;
  const rendered = renderText(taskType, roots, wordCharactersMax);
  return taskTypes.includes(rendered) ? rendered : refuseAct('task_type_not_allowed');
}

/** @throws ActRefused `invalid_work` for values that are invalid for a task */
export function newTaskOf(request: object): NewTask {
  const parsed = NewTask.safeParse(request);
  return parsed.success ? parsed.data : refuseAct('invalid_work');
}

/** The tasks of a relation, given as a string, a list of strings, or a placeholder for either. @throws ActRefused */
export function renderRefs(
  named: string | readonly string[] | undefined,
  roots: RuleRoots,
  refsMax: number,
): string[] {
  const refs = new Set<string>();
  for (const text of named === undefined ? [] : [named].flat())
    for (const value of [renderValue(text, roots, 200)].flat()) {
      if (value === null || value === '') continue;
      if (typeof value !== 'string' || refs.size === refsMax + 1) return refuseAct('invalid_relations');
      refs.add(value);
    }
  return refs.size > refsMax ? refuseAct('invalid_relations') : [...refs];
}
