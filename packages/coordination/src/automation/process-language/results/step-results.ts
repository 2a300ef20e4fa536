import type { JsonObject } from '@baton/kernel/wire';
import type { DecisionTable, ProcessSpec } from '../definition.ts';
import { eventFields } from '../environments.ts';
import {
  dyn,
  isObject,
  listOf,
  mapOf,
  nil,
  objectOf,
  type SchemaReading,
  string,
  type Type,
  typeOfSchema,
} from '../expressions/types.ts';
import { kindOf, type Step } from '../step.ts';

const voted = objectOf({
  outcome: string,
  reason: string,
  votes: listOf(objectOf({ principalId: string, vote: string })),
});
const called = objectOf({ outcome: string, data: mapOf(dyn) });
const remembered = objectOf({ observationId: string, eventId: string });
/** As a result the event is JSON: nothing reads its time as an instant. */
const heard = objectOf({ ...eventFields, time: string });

/**
 * The type of `step.result` before `output`, as far as it is known when a definition is published (organisation, section 15.2);
 * else `dyn`.
 * @param outputs what skills give out, by `name@version`
 * @param as how the schemas of forms and skills are read
 */
export function resultTypeOf(
  step: Step,
  { decisions }: Pick<ProcessSpec, 'decisions'>,
  outputs: ReadonlyMap<string, JsonObject>,
  as: SchemaReading = {},
): Type {
  switch (kindOf(step)) {
    case 'human':
      // Of the task's fields only those that the form names.
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

/** A contract may allow more than the fields that it names. */
function skillType(outputs: JsonObject | undefined, as: SchemaReading): Type {
  return outputs === undefined ? dyn : typeOnce(outputs, { ...as, isOpen: true });
}

/** By their schemas: many steps may call one skill, and many fields be exported of one result. */
const known = new WeakMap<JsonObject, Map<string, Type>>();

function typeOnce(schema: JsonObject, as: SchemaReading): Type {
  const types = known.get(schema) ?? new Map<string, Type>();
  known.set(schema, types);
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

/** The type of what `output` gives, as the next expression reads it: JSON has no instants, spans and optional values. */
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
      // Objects that hold instants are flat: events and instances.
      return {
        ...type,
        fields: new Map([...type.fields].map(([name, of]) => [name, isTime(of) ? string : of])),
      };
    default:
      return type;
  }
}

const isTime = ({ kind }: Type) => kind === 'timestamp' || kind === 'duration';
