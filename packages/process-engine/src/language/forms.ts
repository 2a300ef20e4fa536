import { z } from 'zod';
import { Slug, TypeKey } from '@baton/values/keys';
import { Uuid } from '@baton/values/wire';

/** Small schemas that steps and stages share (docs/reference/processes.md#language). */

/** Longer than an expression may be, so that an expression that is too long is reported with its own problem code. */
export const textCharactersMax = 20_000;
/** The maximum number of steps in a list (of a stage, a branch or a handler). */
export const stepsMax = 100;
const fieldsMax = 100;
const inputsMax = 100;

export const ElementId = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,62}$/,
    'must consist of lower-case letters, digits and -, beginning with a letter',
  );

/** CEL of the profile cp/1. */
export const Expression = z.string().min(1).max(textCharactersMax);

/** Text in which `{{ CEL }}` is replaced by the expression's result. */
export const Template = z.string().min(1).max(textCharactersMax);

/** The name of a member of `data`. */
export const DataField = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be a name of letters, digits and _');

const fieldExpressions = <Name extends z.ZodType<string>>(name: Name, namesMax: number) =>
  z
    .record(name, Expression)
    .refine((given) => Object.keys(given).length <= namesMax, `must have at most ${namesMax} members`);

/** Writes to `data`: fields with expressions. */
export const DataWrites = fieldExpressions(DataField, fieldsMax);
/** Inputs for another object: names with expressions. */
export const NamedExpressions = fieldExpressions(z.string().min(1).max(64), inputsMax);

/** An ISO 8601 duration in weeks to seconds; months and years are excluded, because their length varies. */
export const IsoDuration = z
  .string()
  .regex(
    /^P(?=[\dT])(?:\d{1,5}W)?(?:\d{1,6}D)?(?:T(?=\d)(?:\d{1,7}H)?(?:\d{1,8}M)?(?:\d{1,10}(?:\.\d{1,3})?S)?)?$/,
    'must be an ISO 8601 duration of weeks, days, hours, minutes and seconds',
  );

/**
 * An assignee: the first of a chain that resolves to a principal. `expr` returns a principal's id, `role:<slug>` or
 * `agent:<key>`.
 */
export const Assignee = z
  .strictObject({
    principal: Uuid.optional(),
    role: Slug.optional(),
    agent: Slug.or(z.string().regex(/^[a-z0-9]$/)).optional(),
    expr: Expression.optional(),
  })
  .refine((given) => membersOf(given) === 1, 'must name one of principal, role, agent and expr')
  .meta({ examples: [{ role: 'reviewer' }] });
export type Assignee = z.output<typeof Assignee>;
export const AssigneeChain = z.array(Assignee).min(1).max(10);

/** A deadline: wall time, an instant, or working time by a calendar. `warnBefore` is wall time before the deadline. */
const dueMembers = {
  at: Expression.optional(),
  duration: IsoDuration.optional(),
  workdays: z.int().min(1).max(1000).optional(),
  workhours: z.number().positive().max(10_000).optional(),
};
export const Due = z
  .strictObject({ ...dueMembers, calendar: TypeKey.optional(), warnBefore: IsoDuration.optional() })
  .refine(
    ({ at, duration, workdays, workhours }) => membersOf({ at, duration, workdays, workhours }) === 1,
    'must have one of at, duration, workdays and workhours',
  );
/** A plain duration means `{duration}`. */
export const DueInput = z.preprocess((sent) => (typeof sent === 'string' ? { duration: sent } : sent), Due);
export type Due = z.output<typeof Due>;

const When = z.strictObject({ at: Expression }).or(IsoDuration);
/** An error that a step raises; `try` catches it by its type. */
export const RaisedError = z.strictObject({
  type: z.string().min(1).max(200),
  status: z.int().min(400).max(599).optional(),
  detail: Template.optional(),
});
export type RaisedError = z.output<typeof RaisedError>;

/** An escalation: at the due time, a duration after the start, or at an instant. */
export const Escalation = z
  .strictObject({
    after: z.literal('due').or(When),
    action: z.enum(['remind', 'reassign', 'notify', 'raise']),
    to: AssigneeChain.optional(),
    error: RaisedError.optional(),
  })
  .refine(({ action, to }) => !['reassign', 'notify'].includes(action) || to !== undefined, {
    path: ['to'],
    message: 'must name a recipient',
  })
  .refine(({ action, error }) => (action === 'raise') === (error !== undefined), {
    path: ['error'],
    message: 'is required for raise, and not allowed otherwise',
  });
export type Escalation = z.output<typeof Escalation>;
export const Escalations = z.array(Escalation).max(5);

/**
 * The events that a step or handler waits for. `where` reads `event` and, inside an instance, the instance's variables
 * too.
 */
export const Trigger = z
  .strictObject({
    event: z
      .string()
      .max(200)
      .regex(/^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$/)
      .optional(),
    observation: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,127}$/)
      .optional(),
    source: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._:/-]{0,127}$/)
      .optional(),
    where: Expression.optional(),
  })
  .refine(
    ({ event, observation }) => membersOf({ event, observation }) === 1,
    'must name one of event and observation',
  )
  .refine(({ observation, source }) => source === undefined || observation !== undefined, {
    path: ['source'],
    message: 'only observations have a source',
  });
export type Trigger = z.output<typeof Trigger>;

/** Natural keys of the documents that govern a process, or a step of it. */
export const GovernedBy = z.array(z.string().min(1).max(512)).max(20);

/** The number of members of an object with a value. */
export function membersOf(given: object): number {
  return Object.values(given).filter((value) => value !== undefined).length;
}
