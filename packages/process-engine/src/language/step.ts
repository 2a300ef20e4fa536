import { z } from 'zod';
import { TypeKey } from '@baton/values/keys';
import { FreeObject } from '@baton/values/wire';
import {
  Assignee,
  AssigneeChain,
  DataField,
  DataWrites,
  DueInput,
  ElementId,
  Escalations,
  Expression,
  GovernedBy,
  IsoDuration,
  membersOf,
  NamedExpressions,
  RaisedError,
  stepsMax,
  Template,
  Trigger,
} from './forms.ts';

/** The steps of a process (docs/reference/processes.md#steps): each has exactly one member named after its kind. */

export const stepKinds = [
  'human',
  'approve',
  'call',
  'decide',
  'recall',
  'remember',
  'wait',
  'set',
  'listen',
  'raise',
  'compensate',
  'fork',
  'try',
  'do',
  'suspend',
  'resume',
  'complete',
] as const;
export type StepKind = (typeof stepKinds)[number];

/** A task for a person. The result is `step.result`, whose schema is `form`, a JSON Schema. */
const Human = z.strictObject({
  taskType: TypeKey,
  title: Template,
  form: FreeObject.optional(),
  assign: AssigneeChain.optional(),
  due: DueInput.optional(),
  escalations: Escalations.default([]),
  context: NamedExpressions.optional(),
});

const Quorum = z.union([
  z.enum(['all', 'any']),
  z.strictObject({ atLeast: z.int().min(1).max(50) }),
  z.strictObject({ percent: z.int().min(1).max(100) }),
]);
export type Quorum = z.output<typeof Quorum>;

/** Approvals of several people, and the required number of votes. */
const Approve = z.strictObject({
  approvers: z.array(Assignee).min(1).max(50),
  quorum: Quorum.default('all'),
  mode: z.enum(['parallel', 'sequential']).default('parallel'),
  earlyDecision: z
    .boolean()
    .default(true)
    .describe('Whether it ends as soon as further votes can not change the result.'),
  separationOfDuties: z
    .boolean()
    .default(false)
    .describe('Whether people who did a human step of the instance may not vote.'),
  title: Template.optional(),
  due: DueInput.optional(),
  onDue: z.enum(['approve', 'reject', 'escalate']).optional(),
  escalations: Escalations.default([]),
});

/** A call of a skill (`name@version`), work for an agent, or another process. */
const Call = z
  .strictObject({
    skill: z
      .string()
      .regex(/^[^@]{1,200}@[^@]{1,100}$/, 'must be name@version')
      .optional(),
    agent: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
      .optional(),
    process: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,62}(?:@[1-9]\d{0,8})?$/)
      .optional(),
    key: Expression.optional().describe('For a called process, the key of its instance.'),
    taskType: TypeKey.optional().describe('The type of the task for an agent.'),
    title: Template.optional().describe('The title of the task for an agent.'),
    input: NamedExpressions.default({}),
    timeout: IsoDuration.optional(),
    due: DueInput.optional(),
  })
  .refine(
    ({ skill, agent, process }) => membersOf({ skill, agent, process }) === 1,
    'must name one of skill, agent and process',
  )
  .refine(({ agent, taskType }) => (agent === undefined) === (taskType === undefined), {
    path: ['taskType'],
    message: 'is required for an agent, and not allowed otherwise',
  });

export type Call = z.output<typeof Call>;

const Decide = z.strictObject({ table: ElementId });

/** A query to memory. Anchors are `type:key`, and may contain `{{ CEL }}`. */
const Recall = z.strictObject({
  anchors: z.array(Template).min(1).max(10),
  kinds: z.array(z.string().min(1).max(128)).max(20).default([]),
  relations: z.array(z.string().min(1).max(128)).max(10).default([]),
  depth: z.int().min(1).max(3).default(1),
  maxTokens: z.int().min(1).max(32_000).default(3000),
  timeout: IsoDuration.optional(),
});

export type Recall = z.output<typeof Recall>;

/** A write to memory, by an observation. */
const Remember = z.strictObject({
  kind: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,127}$/),
  content: Template,
  data: NamedExpressions.optional(),
  facts: z
    .array(z.strictObject({ subject: Template, predicate: z.string().min(1).max(256), object: Template }))
    .max(50)
    .default([]),
});

export type Remember = z.output<typeof Remember>;

const Wait = IsoDuration.or(z.strictObject({ at: Expression }));

const Reason = z.strictObject({ reason: z.string().min(1).max(500).optional() });

const Retry = z.strictObject({
  limit: z.int().min(1).max(20),
  delay: IsoDuration.default('PT0S'),
  backoff: z.enum(['constant', 'exponential']).default('constant'),
  maxDelay: IsoDuration.optional(),
  on: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(20)
    .optional()
    .describe('Types of errors; all if absent.'),
});
export type Retry = z.output<typeof Retry>;

const common = {
  id: ElementId,
  when: Expression.optional().describe('The step is skipped if this does not hold.'),
  input: z
    .strictObject({ from: Expression })
    .optional()
    .describe('The value of `step.input` while the step runs.'),
  output: z
    .strictObject({ as: Expression })
    .optional()
    .describe('Computes a new `step.result` from `step.result`.'),
  export: z
    .strictObject({ as: DataField.or(DataWrites) })
    .optional()
    .describe('Written to data when the step is done: the field for the result, or fields with expressions.'),
  governedBy: GovernedBy.optional(),
};

export interface Branch {
  id: string;
  do: Step[];
}

interface Catch {
  on?: string[] | undefined;
  do: Step[];
}

/** The kinds that contain no other steps. */
const leaves = {
  human: Human.optional(),
  approve: Approve.optional(),
  call: Call.optional(),
  decide: Decide.optional(),
  recall: Recall.optional(),
  remember: Remember.optional(),
  wait: Wait.optional(),
  set: DataWrites.optional(),
  raise: RaisedError.optional(),
  compensate: z.literal('all').or(z.array(ElementId).min(1).max(stepsMax)).optional(),
  suspend: Reason.optional(),
  resume: Reason.optional(),
  complete: z.strictObject({ outcome: z.string().min(1).max(100) }).optional(),
};

const Leaf = z.strictObject({ ...common, ...leaves });
type Holders = {
  listen?: {
    any: Trigger[];
    timeout?: string | undefined;
    onTimeout?: Step[] | undefined;
  };
  fork?: { mode: 'all' | 'compete'; branches: Branch[] };
  try?: { do: Step[]; retry?: Retry | undefined; catch: Catch[] };
  do?: Step[];
  onCompensate?: Step[];
};

/** One step, with defaults for omitted members. */
export type Step = z.output<typeof Leaf> & { [Kind in keyof Holders]?: Holders[Kind] | undefined };

const nested = z.lazy((): z.ZodType<Step[]> => Steps);

export const Step: z.ZodType<Step> = z
  .strictObject({
    ...common,
    ...leaves,
    listen: z
      .strictObject({
        any: z.array(Trigger).min(1).max(10),
        timeout: IsoDuration.optional(),
        onTimeout: nested.optional(),
      })
      .optional(),
    fork: z
      .strictObject({
        mode: z.enum(['all', 'compete']).default('all'),
        branches: z
          .array(z.strictObject({ id: ElementId, do: nested }))
          .min(2)
          .max(20),
      })
      .optional(),
    try: z
      .strictObject({
        do: nested,
        retry: Retry.optional(),
        catch: z
          .array(
            z.strictObject({ on: z.array(z.string().min(1).max(200)).min(1).max(20).optional(), do: nested }),
          )
          .max(10)
          .default([]),
      })
      .optional(),
    do: nested.optional(),
    onCompensate: nested.optional(),
  })
  .refine((step) => kindsOf(step).length === 1, {
    message: `must have exactly one of ${stepKinds.join(', ')}`,
  });

export const Steps = z.array(Step).min(1).max(stepsMax);

function kindsOf(step: object): StepKind[] {
  return stepKinds.filter((kind) => (step as { [name: string]: unknown })[kind] !== undefined);
}

/** The kind of a step: the name of its only member. */
export function kindOf(step: Step): StepKind {
  return kindsOf(step)[0] as StepKind;
}

/** A list of steps inside of a step, and its path: `/fork/branches/0/do`. */
export interface InnerSteps {
  readonly path: string;
  readonly steps: readonly Step[];
}

/** All lists of steps directly inside a step, in document order. */
export function innerStepsOf(step: Step): InnerSteps[] {
  const lists: (InnerSteps | undefined)[] = [
    of('/listen/onTimeout', step.listen?.onTimeout),
    ...(step.fork?.branches ?? []).map((branch, n) => of(`/fork/branches/${n}/do`, branch.do)),
    of('/try/do', step.try?.do),
    ...(step.try?.catch ?? []).map((one, n) => of(`/try/catch/${n}/do`, one.do)),
    of('/do', step.do),
    of('/onCompensate', step.onCompensate),
  ];
  return lists.filter((list) => list !== undefined);
}

function of(path: string, steps: readonly Step[] | undefined): InnerSteps | undefined {
  return steps && { path, steps };
}
