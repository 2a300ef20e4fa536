import { z } from 'zod';
import type { EventDeclaration } from '@baton/kernel/http/service';
import type { Json } from '@baton/values/wire';
import { pathsIn, rootOf } from '../../definitions/declared-actions/condition.ts';
import { collectActionTexts } from './action.ts';
import { collectInterpretationTexts } from './interpretation.ts';
import { type PathTypes, payloadSchemaOf, schemaOf, typeOf, typesAt } from './payload-paths.ts';
import { RuleGoal, RuleTask, RuleTriggerRoot } from './roots.ts';
import type { RuleDocuments } from './rule-documents.ts';
import { pathsInTemplate } from './template.ts';

/** Warnings about a well-formed rule that can't work as written (docs/reference/rules.md#operations). */
export const RuleWarning = z
  .strictObject({
    field: z.string(),
    code: z.enum(['unknown_event_type', 'unknown_path', 'type_mismatch']),
    message: z.string(),
  })
  .meta({ id: 'RuleWarning' });
export type RuleWarning = z.infer<typeof RuleWarning>;

export const warningsMax = 20;

const ownRoots = new Map([
  ['trigger', schemaOf(RuleTriggerRoot)],
  ['task', schemaOf(RuleTask)],
  ['goal', schemaOf(RuleGoal)],
]);

/** Compares the paths that a rule reads with the schema of its event's payload. */
export function warningsOf(
  { trigger, condition, interpretation, action }: RuleDocuments,
  catalog: ReadonlyMap<string, EventDeclaration>,
): RuleWarning[] {
  const type = trigger.kind === 'event' ? trigger.type : 'observation.recorded';
  const event = trigger.kind === 'schedule' ? undefined : catalog.get(type);
  const unknown: RuleWarning[] =
    trigger.kind !== 'event' || event !== undefined
      ? []
      : [{ field: 'trigger.type', code: 'unknown_event_type', message: `no event has the type ${type}` }];
  const typesOf = (path: string): PathTypes => {
    const [root, ...segments] = path.split('.');
    if (root === 'payload') return event === undefined ? 'any' : typesAt(payloadSchemaOf(event), segments);
    const schema = ownRoots.get(root ?? '');
    return schema === undefined ? 'any' : typesAt(schema, segments);
  };
  const ofPaths = (field: string, paths: readonly string[]): RuleWarning[] =>
    paths
      .filter((path) => typesOf(path) === 'absent')
      .map((path) => ({ field, code: 'unknown_path', message: `${path} never has a value` }));
  const conditions = [
    { field: 'condition', condition },
    ...(action.where === undefined ? [] : [{ field: 'action.where', condition: action.where }]),
  ];
  return [
    ...unknown,
    ...conditions.flatMap(({ field, condition: one }) => [
      ...ofPaths(field, pathsIn(one)),
      ...mismatchesIn(one, field, typesOf),
    ]),
    ...[...collectInterpretationTexts(interpretation), ...collectActionTexts(action)].flatMap(
      ({ field, text }) => ofPaths(field, pathsInTemplate(text)),
    ),
    ...(action.forEach === undefined ? [] : ofList(action.forEach, typesOf(action.forEach))),
  ].slice(0, warningsMax);
}

function ofList(path: string, types: PathTypes): RuleWarning[] {
  const field = 'action.forEach';
  if (types === 'absent') return [{ field, code: 'unknown_path', message: `${path} never has a value` }];
  if (types === 'any' || types.has('array')) return [];
  return [{ field, code: 'type_mismatch', message: `${path} is never a list` }];
}

const orderings = ['lt', 'le', 'gt', 'ge'];

/** Comparisons that are never true, or that always fail. */
function mismatchesIn(condition: Json, field: string, typesOf: (path: string) => PathTypes): RuleWarning[] {
  if (typeof condition !== 'object' || condition === null || Array.isArray(condition)) return [];
  const [[operator, content] = []] = Object.entries(condition);
  if (operator === undefined || content === undefined) return [];
  if (operator === 'and' || operator === 'or' || operator === 'not')
    return [content].flat().flatMap((part) => mismatchesIn(part, field, typesOf));
  if (operator === 'exists' || !Array.isArray(content)) return [];
  const [left, right] = content.map((operand) => typesOfOperand(operand, typesOf));
  const message = left && right && mismatch(operator, left, right);
  return message ? [{ field, code: 'type_mismatch', message: `${operator}: ${message}` }] : [];
}

function typesOfOperand(operand: Json, typesOf: (path: string) => PathTypes): PathTypes {
  if (typeof operand !== 'object' || operand === null || Array.isArray(operand))
    return new Set([typeOf(operand)]);
  if (typeof operand['var'] === 'string') {
    const types = typesOf(operand['var']);
    return types === 'absent' ? 'any' : types;
  }
  return new Set([typeOf(operand['const'] ?? null)]);
}

function mismatch(operator: string, left: PathTypes, right: PathTypes): string | undefined {
  if (typeof right === 'string') return undefined;
  if (operator === 'in') return right.has('array') ? undefined : 'the second operand is not a list';
  if (typeof left === 'string') return undefined;
  const common = [...left].filter((type) => right.has(type) && type !== 'null');
  if (orderings.includes(operator))
    return common.some((type) => type === 'number' || type === 'string')
      ? undefined
      : 'only two numbers or two texts can be ordered';
  const bothMayBeNull = left.has('null') && right.has('null');
  return common.length > 0 || bothMayBeNull ? undefined : `${listed(left)} is never ${listed(right)}`;
}

const listed = (types: ReadonlySet<string>) => [...types].join(' or ');

/** Whether the documents read a root. */
export function readsRoot(documents: RuleDocuments, root: string): boolean {
  return pathsOf(documents).some((path) => rootOf(path) === root);
}

/** The members of the root `trigger` that readers of evaluations also see. */
const told = ['kind', 'ref', 'type', 'eventId', 'occurredAt'].map((name) => `trigger.${name}`);

/** Whether the documents read an event's payload, subject or author. */
export function readsEvents(documents: RuleDocuments): boolean {
  if (documents.trigger.kind === 'schedule') return false;
  return pathsOf(documents).some(
    (path) => rootOf(path) === 'payload' || (rootOf(path) === 'trigger' && !told.includes(path)),
  );
}

function pathsOf({ condition, interpretation, action }: RuleDocuments): string[] {
  return [
    ...pathsIn(condition),
    ...(action.where === undefined ? [] : pathsIn(action.where)),
    ...[...collectInterpretationTexts(interpretation), ...collectActionTexts(action)].flatMap(({ text }) =>
      pathsInTemplate(text),
    ),
    ...(action.forEach === undefined ? [] : [action.forEach]),
  ];
}
