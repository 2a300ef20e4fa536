import type { DecisionTable, ProcessSpec } from './definition.ts';
import type { ExpressionEnvironment } from './expressions/expressions.ts';
import {
  bool,
  dyn,
  int,
  mapOf,
  objectOf,
  string,
  type Type,
  timestamp,
  typeOfSchema,
} from './expressions/types.ts';

/** What expressions may read, by where they stand (organisation, section 15.3). What is missing reads as null. */

/** What expressions read of `event`. */
export const eventFields = {
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

/** The same for what reads the result of a step whose type is known. */
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
  /** Before there is an instance: `event`. */
  readonly event: ExpressionEnvironment;
  /** Of a running instance: `data`, `instance`, `stage`, `milestone`. */
  readonly instance: ExpressionEnvironment;
  /** Of a step: the same, `step` and `task`. */
  readonly step: ExpressionEnvironment;
  /** Of a step that an event has begun, and of triggers inside of an instance: the same, and `event`. */
  readonly handler: ExpressionEnvironment;
  /** Of a decision table: its inputs by id, and `data`. */
  readonly tables: ReadonlyMap<string, ExpressionEnvironment>;
}

/** All patterns of a definition's expressions together; 20 µs each to compile. */
const patternSizesMax = 2000;

/** @param inputTypes of decision tables, where they are known: `table/input` */
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

/** The variable that an element's id is. */
export function variableOf(id: string): string {
  return id.replaceAll('-', '_');
}
