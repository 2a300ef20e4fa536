import { formatValue, insertValues, type TextPart, wholeExpression } from '@baton/values/text-expressions';
import type { Json } from '@baton/values/wire';

/**
 * Expressions in the texts of declared actions (docs/reference/definitions.md#expressions): `$.task.title`,
 * `$.task.customFields.region!`, `$.approval.comment|truncate:80`. `!` marks a required value, `|truncate:N` cuts a
 * text. A text that consists of one expression yields its value; within other text, the value is inserted as text.
 */

export type Root = 'task' | 'spawnedBy' | 'approval' | 'invocation';

const taskFields = [
  'id',
  'publicId',
  'title',
  'description',
  'status',
  'systemStatusCategory',
  'priority',
  'workspaceId',
  'projectId',
  'typeId',
  'typeKey',
  'typeVersion',
  'ownerId',
  'assigneeId',
  'startDate',
  'dueDate',
  'goalId',
  'version',
  'createdBy',
  'createdAt',
  'updatedAt',
  'completedAt',
];
const approvalFields = ['id', 'comment', 'decidedBy', 'decidedAt', 'outcome'];

const name = '[A-Za-z_][A-Za-z0-9_-]{0,63}';
const oneOf = (fields: readonly string[]) =>
  `(?:${fields.toSorted((a, b) => b.length - a.length).join('|')})`;
const ofTask = `customFields\\.${name}|artifact\\[[^\\]\\s]{1,200}\\]\\.metadata\\.${name}|${oneOf(taskFields)}(?![A-Za-z0-9_])`;
const ofInvocation = `output\\.${name}|(?:id|skill|status|error\\.code|error\\.message)(?![A-Za-z0-9_])`;
const form = new RegExp(
  `\\$\\.(?:(task|spawnedBy)\\.(${ofTask})|(approval)\\.(${oneOf(approvalFields)}(?![A-Za-z0-9_]))|(invocation)\\.(${ofInvocation}))(!)?( ?\\| ?truncate:([0-9]{1,6})(?![0-9]))?`,
  'g',
);
/** The start of an expression; one that doesn't begin a valid expression is malformed. */
const lookalike = /\$\.[A-Za-z]/g;
const truncateMax = 100_000;

export interface Expression {
  readonly root: Root;
  /** `title`, `customFields.region`, `artifact[report].metadata.risk`. */
  readonly path: string;
  readonly isRequired: boolean;
  /** The maximum number of characters of the text. */
  readonly charactersMax: number | undefined;
}

interface Part extends TextPart<Expression> {
  /** The expression's source with its suffixes. */
  readonly source: string;
}

/** Parses a text into literals and expressions, or returns what is wrong with it. */
export function partsOf(text: string): Part[] | { fault: string } {
  const parts: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(form)) {
    const [whole, taskRoot, taskPath, approvalRoot, approvalPath, callRoot, callPath, ...suffixes] = match;
    const [required, truncate, digits] = suffixes;
    const charactersMax = truncate === undefined ? undefined : Number(digits);
    if (charactersMax !== undefined && (charactersMax < 1 || charactersMax > truncateMax))
      return { fault: `truncate takes 1 to ${truncateMax}` };
    const expression = {
      root: (taskRoot ?? approvalRoot ?? callRoot) as Root,
      path: (taskPath ?? approvalPath ?? callPath) as string,
      isRequired: required !== undefined,
      charactersMax,
    };
    parts.push({ literal: text.slice(at, match.index), expression, source: whole });
    at = match.index + whole.length;
  }
  parts.push({ literal: text.slice(at), expression: undefined, source: '' });
  if (parts.some(({ literal }) => literal.search(lookalike) >= 0)) return { fault: 'unknown expression' };
  return parts;
}

/** What is wrong with a text that may contain expressions of these roots; undefined if it is valid. */
export function findTextFault(text: string, roots: readonly Root[]): string | undefined {
  const parts = partsOf(text);
  if ('fault' in parts) return parts.fault;
  const foreign = parts.find(({ expression }) => expression && !roots.includes(expression.root));
  return foreign === undefined ? undefined : `$.${foreign.expression?.root} is not available here`;
}

/** Whether a text consists of exactly one expression. */
export function isOneExpression(text: string): boolean {
  const parts = partsOf(text);
  return !('fault' in parts) && wholeExpression(parts) !== undefined;
}

/** Resolves an expression; returns null if it has no value. */
export type Lookup = (expression: Expression) => Promise<Json>;

/** Thrown if a required expression has no value. */
export class UnresolvedExpression extends Error {}

/**
 * The value of a text: if it consists of one expression, that value; otherwise the text with its expressions inserted.
 * @throws UnresolvedExpression
 */
export async function valueOfText(text: string, lookup: Lookup): Promise<Json> {
  const parts = partsOf(text);
  if ('fault' in parts) throw new Error('a stored text has a malformed expression');
  const whole = wholeExpression(parts);
  if (whole !== undefined) return valueOf(whole, lookup);
  const values = new Map<Expression, Json>();
  for (const { expression } of parts)
    if (expression !== undefined) values.set(expression, await valueOf(expression, lookup));
  return insertValues(parts, (expression) => values.get(expression) ?? null);
}

/** Resolves the expressions in the texts of a document, at every depth. Field names are not resolved. */
export async function valueOfDocument(document: Json, lookup: Lookup): Promise<Json> {
  if (typeof document === 'string') return valueOfText(document, lookup);
  if (typeof document !== 'object' || document === null) return document;
  if (Array.isArray(document)) {
    const items: Json[] = [];
    for (const item of document) items.push(await valueOfDocument(item, lookup));
    return items;
  }
  const members: [string, Json][] = [];
  for (const [key, value] of Object.entries(document))
    members.push([key, await valueOfDocument(value, lookup)]);
  // Built from entries, so that a field named __proto__ stays an ordinary field.
  return Object.fromEntries(members);
}

async function valueOf(expression: Expression, lookup: Lookup): Promise<Json> {
  const value = await lookup(expression);
  const isEmpty = value === null || value === '';
  if (isEmpty && expression.isRequired)
    throw new UnresolvedExpression(`$.${expression.root}.${expression.path}`);
  return truncateValue(expression, value);
}

/** Applies the expression's `truncate`. Idempotent. */
export function truncateValue({ charactersMax }: Expression, value: Json): Json {
  if (charactersMax === undefined || value === null) return value;
  return Array.from(formatValue(value)).slice(0, charactersMax).join('');
}
