import { z } from 'zod';
import { IsoDuration } from '@baton/process-engine/language/forms';
import { FreeObject, InstantInput, type JsonObject } from '@baton/values/wire';
import { AnyJson } from '../../rules/documents/any-json.ts';
import { AgentKey } from '../../rules/documents/trigger.ts';

/** Test documents of a package: kind `Test` (docs/reference/packages.md#tests). */

export const testSubjects = ['process', 'rule', 'taskType'] as const;
export type TestSubject = (typeof testSubjects)[number];

const word = z.string().min(1).max(200);
const eventType = z
  .string()
  .max(200)
  .regex(/^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$/);
const element = z.string().min(1).max(63);

const Send = z
  .strictObject({
    event: eventType.optional(),
    observation: word.optional(),
    payload: FreeObject.default({}),
  })
  .refine(
    ({ event, observation }) => (event === undefined) !== (observation === undefined),
    'must contain exactly one of event and observation',
  );

/** An event in the format that rules read, with the task and the goal that their expressions read. */
const Evaluate = z.strictObject({
  event: z.strictObject({
    type: eventType,
    payload: FreeObject.default({}),
    entityType: word.optional(),
    entityId: word.optional(),
    actorId: word.optional(),
    agent: AgentKey.optional().meta({ description: 'The registry agent that wrote the event.' }),
    workspaceId: word.optional(),
    task: FreeObject.optional(),
    goal: FreeObject.optional(),
  }),
});

const acts = {
  send: Send.optional(),
  complete: z.strictObject({ element, output: AnyJson.optional() }).optional(),
  decide: z.strictObject({ element, outcome: z.enum(['approve', 'reject']), by: word.optional() }).optional(),
  advance: IsoDuration.optional(),
  transition: z.strictObject({ status: word, customFields: FreeObject.optional() }).optional(),
  evaluate: Evaluate.optional(),
};
export type ActKind = keyof typeof acts;
export const actKinds = Object.keys(acts) as ActKind[];

/** The acts of a step, by the kind of the tested object. */
const actsOf: Readonly<Record<TestSubject, readonly ActKind[]>> = {
  process: ['send', 'complete', 'decide', 'advance'],
  rule: ['evaluate', 'advance'],
  taskType: ['transition', 'evaluate'],
};

const codes = z.array(word).max(50);
const Expectation = z.strictObject({
  status: word.optional(),
  open: z.array(element).max(500).optional(),
  data: FreeObject.optional(),
  created: z
    .array(z.strictObject({ kind: word, match: FreeObject.default({}) }))
    .max(100)
    .optional(),
  problems: codes.optional(),
  refused: word.optional(),
});
export type Expectation = z.output<typeof Expectation>;
export type ExpectationKind = keyof Expectation;

/** The possible expectations, by the kind of the tested object. */
const expectationsOf: Readonly<Record<TestSubject, readonly ExpectationKind[]>> = {
  process: ['status', 'open', 'data', 'created', 'problems', 'refused'],
  rule: ['status', 'created', 'problems', 'refused'],
  taskType: ['status', 'data', 'created', 'refused'],
};

const TestStep = z
  .strictObject({ ...acts, expect: Expectation.default({}) })
  .refine((step) => actsIn(step).length === 1, `must have exactly one of ${actKinds.join(', ')}`);
export type TestStep = z.output<typeof TestStep>;

export const TestSpec = z
  .strictObject({
    subject: z.enum(testSubjects),
    object: z.string().min(1).max(128),
    settings: FreeObject.optional(),
    now: InstantInput.optional(),
    steps: z.array(TestStep).min(1).max(100),
  })
  .superRefine(({ subject, steps }, context) => {
    for (const [n, step] of steps.entries()) {
      const [act] = actsIn(step);
      if (act !== undefined && !actsOf[subject].includes(act))
        context.addIssue({
          code: 'custom',
          path: ['steps', n, act],
          message: `is not possible for a ${subject}`,
        });
      for (const name of Object.keys(step.expect) as ExpectationKind[])
        if (!expectationsOf[subject].includes(name))
          context.addIssue({
            code: 'custom',
            path: ['steps', n, 'expect', name],
            message: `cannot be expected of a ${subject}`,
          });
    }
  });
export type TestSpec = z.output<typeof TestSpec>;

function actsIn(step: object): ActKind[] {
  return actKinds.filter((kind) => (step as JsonObject)[kind] !== undefined);
}
