import type { JsonObject } from '@baton/values/wire';
import type { DecisionTable, ProcessSpec } from './definition.ts';
import type { ExpressionEnvironment } from './expressions/expressions.ts';
import {
  bool,
  dyn,
  int,
  isObject,
  listOf,
  mapOf,
  nil,
  objectOf,
  type SchemaReading,
  string,
  type Type,
  timestamp,
  typeOfSchema,
} from './expressions/types.ts';
import { kindOf, type Step } from './step.ts';

/**
 * The variables that expressions may read, by their location (docs/reference/processes.md#expressions). Missing values
 * are null.
 */

/** The type of `event`. */
const eventFields = {
  id: string,
  type: string,
  time: timestamp,
  entityType: string,
  entityId: string,
  actorId: string,
  correlationId: string,
  payload: mapOf(dyn),
};
const event = objectOf(eventFields);

const stepWith = (result: Type) =>
  objectOf({
    id: string,
    skill: string,
    status: string,
    input: dyn,
    result,
    error: objectOf({ type: string, status: int, detail: string }),
  });
const step = stepWith(dyn);

/** The environment for expressions on the result of a step, if the type of the result is known. */
export function withResult(environment: ExpressionEnvironment, result: Type): ExpressionEnvironment {
  if (result.kind === 'dyn') return environment;
  return { ...environment, variables: new Map([...environment.variables, ['step', stepWith(result)]]) };
}

const task = objectOf({
  id: string,
  publicId: string,
  typeKey: string,
  typeVersion: int,
  title: string,
  status: string,
  systemStatusCategory: string,
  priority: string,
  workspaceId: string,
  assigneeId: string,
  customFields: mapOf(dyn),
});

const instance = objectOf({ id: string, key: string, version: int, startedAt: timestamp, clock: timestamp });

export interface ProcessEnvironments {
  /** Before an instance exists: `event`. */
  readonly event: ExpressionEnvironment;
  /** In a running instance: `data`, `instance`, `stage`, `milestone`. */
  readonly instance: ExpressionEnvironment;
  /** In a step: also `step` and `task`. */
  readonly step: ExpressionEnvironment;
  /** In a step that an event has started, and in triggers inside an instance: also `event`. */
  readonly handler: ExpressionEnvironment;
  /** In a decision table: its inputs by id, and `data`. */
  readonly tables: ReadonlyMap<string, ExpressionEnvironment>;
}

/** The limit for all patterns of a definition's expressions together; each takes 20 µs to compile. */
const patternSizesMax = 2000;

/**
 * @param inputTypes the types of the inputs of decision tables, if known, by `table/input`
 */
export function environmentsOf(
  { data, stages, decisions }: Pick<ProcessSpec, 'data' | 'stages' | 'decisions'>,
  inputTypes: ReadonlyMap<string, Type> = new Map(),
): ProcessEnvironments {
  const patterns = { sizeLeft: patternSizesMax };
  const known = (variables: Readonly<Record<string, Type>>): ExpressionEnvironment => ({
    variables: new Map(Object.entries(variables)),
    patterns,
  });
  const dataType = typeOfSchema(data);
  const state = objectOf({ completed: bool, active: bool });
  const running = {
    data: dataType,
    instance,
    stage: objectOf(Object.fromEntries(stages.map(({ id }) => [id, state]))),
    milestone: objectOf(
      Object.fromEntries(stages.flatMap(({ milestones }) => milestones).map(({ id }) => [id, bool])),
    ),
  };
  const ofStep = { ...running, step, task };
  const inputsOf = ({ id: table, inputs }: DecisionTable) =>
    inputs.map(({ id }): [string, Type] => [variableOf(id), inputTypes.get(`${table}/${id}`) ?? dyn]);
  return {
    event: known({ event }),
    instance: known(running),
    step: known(ofStep),
    handler: known({ ...ofStep, event }),
    tables: new Map(
      decisions.map((table) => [table.id, known({ data: dataType, ...Object.fromEntries(inputsOf(table)) })]),
    ),
  };
}

/** The variable name of an element's id. */
export function variableOf(id: string): string {
  return id.replaceAll('-', '_');
}

const voted = objectOf({
  outcome: string,
  reason: string,
  votes: listOf(objectOf({ principalId: string, vote: string })),
});
const called = objectOf({ outcome: string, data: mapOf(dyn) });
const remembered = objectOf({ observationId: string, eventId: string });
/** The event as the result of a step is JSON, so its time is a string, not an instant. */
const heard = objectOf({ ...eventFields, time: string });

/**
 * The type of `step.result` before `output`, as far as it is known at publication
 * (docs/reference/processes.md#language); otherwise `dyn`.
 * @param outputs the outputs of skills, by `name@version`
 * @param as the interpretation of the schemas of forms and skills
 */
export function resultTypeOf(
  step: Step,
  { decisions }: Pick<ProcessSpec, 'decisions'>,
  outputs: ReadonlyMap<string, JsonObject>,
  as: SchemaReading = {},
): Type {
  switch (kindOf(step)) {
    case 'human':
      // The type contains only the task fields that the form lists.
      return isObject(step.human?.form?.['properties']) ? formType(step, as) : mapOf(dyn);
    case 'approve':
      return voted;
    case 'call':
      if (step.call?.skill !== undefined) return skillType(outputs.get(step.call.skill), as);
      return step.call?.process === undefined ? mapOf(dyn) : called;
    case 'decide':
      return tableType(decisions.find(({ id }) => id === step.decide?.table));
    case 'recall':
      return mapOf(dyn);
    case 'remember':
      return remembered;
    case 'listen':
      return heard;
    case 'fork':
      return step.fork?.mode === 'compete' ? objectOf({ winner: string }) : nil;
    case 'compensate':
      return listOf(string);
    case 'raise':
      return dyn;
    default:
      return nil;
  }
}

function formType({ human }: Step, as: SchemaReading): Type {
  const type = human?.form === undefined ? dyn : typeOnce(human.form, as);
  return type.kind === 'object' ? type : dyn;
}

/** A contract may allow more fields than it lists. */
function skillType(outputs: JsonObject | undefined, as: SchemaReading): Type {
  return outputs === undefined ? dyn : typeOnce(outputs, { ...as, isOpen: true });
}

/** Cached by schema: many steps may call one skill, and many fields may be exported from one result. */
const typesOfSchemas = new WeakMap<JsonObject, Map<string, Type>>();

function typeOnce(schema: JsonObject, as: SchemaReading): Type {
  const types = typesOfSchemas.get(schema) ?? new Map<string, Type>();
  typesOfSchemas.set(schema, types);
  const key = `${as.isOpen === true}/${as.hasAnyNumbers === true}`;
  const type = types.get(key) ?? typeOfSchema(schema, as);
  types.set(key, type);
  return type;
}

function tableType(table: DecisionTable | undefined): Type {
  if (table === undefined) return dyn;
  const row = objectOf(Object.fromEntries(table.outputs.map(({ id }) => [id, dyn])));
  return table.hitPolicy === 'collect' ? listOf(row) : row;
}

/** The type of `output`, as the next expression reads it: JSON has no instants, durations or optional values. */
export function asResult(type: Type): Type {
  switch (type.kind) {
    case 'timestamp':
    case 'duration':
      return string;
    case 'optional':
      return asResult(type.of);
    case 'list':
    case 'map':
      return { ...type, of: asResult(type.of) };
    case 'object':
      // Objects with instants (events and instances) contain no other objects, so one level is enough.
      return {
        ...type,
        fields: new Map([...type.fields].map(([name, of]) => [name, isTime(of) ? string : of])),
      };
    default:
      return type;
  }
}

const isTime = ({ kind }: Type) => kind === 'timestamp' || kind === 'duration';
