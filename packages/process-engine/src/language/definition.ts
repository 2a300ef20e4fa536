import { z } from 'zod';
import { DisplayName, TypeKey } from '@baton/values/keys';
import { FreeObject, Uuid } from '@baton/values/wire';
import {
  AssigneeChain,
  DataWrites,
  DueInput,
  ElementId,
  Expression,
  GovernedBy,
  Template,
  Trigger,
} from './forms.ts';
import { Steps } from './step.ts';

/**
 * The language of processes (docs/reference/processes.md#language): the schema of a definition. `checks.ts` validates
 * what the schema can't express.
 */

const itemsMax = 20;

/** The start of an instance: its key, and its initial data. Both read `event`. */
const Start = z.strictObject({ on: Trigger, key: Expression, set: DataWrites.optional() });

/** A handler for the running instance with the event's key. `set` and `do` read `event` and `data`. */
const Correlation = z.strictObject({
  on: Trigger,
  key: Expression,
  set: DataWrites.optional(),
  do: Steps.optional(),
});
export type Correlation = z.output<typeof Correlation>;

/**
 * A handler of an event: for the instance with its key or, without a key, for the instance that the event comes from
 * (correlation `process:<id>`) or whose open task or approval it concerns.
 */
const EventHandler = z.strictObject({ on: Trigger, key: Expression.optional(), do: Steps });
export type EventHandler = z.output<typeof EventHandler>;

/**
 * Fires at an instant computed from `data`, which is computed again whenever the fields that it reads change. An
 * interrupting timer ends all open elements.
 */
const Timer = z.strictObject({
  id: ElementId,
  at: Expression,
  interrupting: z.boolean().default(false),
  do: Steps,
});
export type Timer = z.output<typeof Timer>;
const Timers = z.array(Timer).max(itemsMax).default([]);

const Milestone = z.strictObject({ id: ElementId, when: Expression });
export type Milestone = z.output<typeof Milestone>;

/**
 * A stage begins when `entry` is true. Without an entry, the first stage begins at once and each later one when the
 * previous one is completed. A stage is completed when its steps are done, or when `exit` is true. A discretionary step
 * begins once while the stage is active, when its `when` is true. The stage waits only for discretionary steps that
 * have begun.
 */
const Stage = z.strictObject({
  id: ElementId,
  displayName: DisplayName.optional(),
  entry: Expression.optional(),
  exit: Expression.optional(),
  repeatable: z.boolean().default(false).describe('Whether it begins again when entry holds again.'),
  steps: Steps,
  discretionary: z.union([Steps.max(itemsMax), z.tuple([])]).default([]),
  milestones: z.array(Milestone).max(itemsMax).default([]),
  timers: Timers,
});
export type Stage = z.output<typeof Stage>;

/**
 * A decision table. Conditions read each input by its id, with `-` written as `_`, and `data`; `true` always matches.
 * The result is an object keyed by output id: for the first matching rule, for the only one, or for each.
 */
const DecisionTable = z.strictObject({
  id: ElementId,
  hitPolicy: z.enum(['first', 'unique', 'collect']).default('first'),
  inputs: z.array(z.strictObject({ id: ElementId, expr: Expression })).max(itemsMax),
  outputs: z
    .array(z.strictObject({ id: ElementId }))
    .min(1)
    .max(itemsMax),
  rules: z
    .array(
      z.strictObject({
        when: z.array(Expression).max(itemsMax),
        // oxlint-disable-next-line unicorn/no-thenable -- the wire name of a row's outputs
        then: z.array(Expression).max(itemsMax),
      }),
    )
    .min(1)
    .max(500),
});
export type DecisionTable = z.output<typeof DecisionTable>;

/** The facts about each instance for the memory service, at its start and its end. */
const Memory = z.strictObject({
  case: z.strictObject({ kind: z.literal('case'), key: Expression, title: Template }),
  facts: z
    .array(z.strictObject({ predicate: z.string().min(1).max(256), object: Template }))
    .max(50)
    .default([])
    .describe('Facts about the case.'),
  entities: z
    .array(z.strictObject({ type: z.string().min(1).max(128), key: Expression, title: Template.optional() }))
    .max(30)
    .default([]),
  documents: z
    .strictObject({ artifacts: z.array(TypeKey).max(20).describe('Types of artifacts.') })
    .optional(),
});
export type Memory = z.output<typeof Memory>;

/** A task that is created when an instance ends, to review it. */
const Retrospective = z.strictObject({
  taskType: TypeKey,
  title: Template,
  assign: AssigneeChain.optional(),
  due: DueInput.optional(),
});

const versionNumber = z.int().min(1).max(999_999_999);

/**
 * The treatment of instances of an earlier version. `map` maps an earlier element to a later one; null means removed.
 */
const Migration = z.strictObject({
  from: versionNumber,
  to: versionNumber,
  policy: z.enum(['pin', 'migrate']),
  map: z.record(ElementId, ElementId.nullable()).optional(),
});
export type Migration = z.output<typeof Migration>;

export const ProcessSpec = z
  .strictObject({
    version: versionNumber,
    displayName: DisplayName,
    description: z.string().max(4000).default(''),
    workspaceId: Uuid.nullable().default(null),
    identity: z
      .strictObject({ agent: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/) })
      .optional()
      .describe('The agent that the process acts as. Required, with a problem code of its own.'),
    owner: AssigneeChain.optional(),
    calendar: TypeKey.optional(),
    due: DueInput.optional(),
    data: FreeObject.describe('A JSON Schema of the data of an instance.'),
    start: Start,
    correlate: z.array(Correlation).max(itemsMax).default([]),
    onEvent: z.array(EventHandler).max(itemsMax).default([]),
    timers: Timers,
    decisions: z.array(DecisionTable).max(50).default([]),
    governedBy: GovernedBy.default([]),
    memory: Memory.optional(),
    retrospective: Retrospective.optional(),
    migrations: z.array(Migration).max(50).default([]),
    stages: z.array(Stage).min(1).max(50),
  })
  .meta({ id: 'ProcessSpec' });
/** A definition with defaults for omitted members. */
export type ProcessSpec = z.output<typeof ProcessSpec>;
