import type { JsonObject } from '@baton/kernel/wire';
import type { DecisionTable, ProcessSpec } from './definition.ts';
import { eventType } from './environments.ts';
import {
  dyn,
  isObject,
  listOf,
  mapOf,
  nil,
  objectOf,
  string,
  type Type,
  typeOfSchema,
} from './expressions/types.ts';
import { kindOf, type Step } from './step.ts';

const voted = objectOf({
  outcome: string,
  reason: string,
  votes: listOf(objectOf({ principalId: string, vote: string })),
});
const called = objectOf({ outcome: string, data: mapOf(dyn) });
const remembered = objectOf({ observationId: string, eventId: string });

/**
 * The type of `step.result` before `output`, as far as it is known when a definition is published (organisation, section 15.2);
 * else `dyn`.
 * @param outputs what skills give out, by `name@version`
 */
export function resultTypeOf(
  step: Step,
  { decisions }: Pick<ProcessSpec, 'decisions'>,
  outputs: ReadonlyMap<string, JsonObject>,
): Type {
  switch (kindOf(step)) {
    case 'human':
      // Of the task's fields only those that the form names.
      return isObject(step.human?.form?.['properties']) ? formType(step) : mapOf(dyn);
    case 'approve':
      return voted;
    case 'call':
      if (step.call?.skill !== undefined) return skillType(step, outputs.get(step.call.skill));
      return step.call?.process === undefined ? mapOf(dyn) : called;
    case 'decide':
      return tableType(decisions.find(({ id }) => id === step.decide?.table));
    case 'recall':
      return mapOf(dyn);
    case 'remember':
      return remembered;
    case 'listen':
      return eventType;
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

function formType({ human }: Step): Type {
  const type = typeOfSchema(human?.form ?? {});
  return type.kind === 'object' ? type : dyn;
}

/** A contract may allow more than the fields that it names, so expressions read what they like of it. */
function skillType(step: Step, outputs: JsonObject | undefined): Type {
  const isWhole = typeof step.export?.as === 'string' && step.output === undefined;
  return outputs === undefined || !isWhole ? dyn : typeOfSchema(outputs);
}

function tableType(table: DecisionTable | undefined): Type {
  if (table === undefined) return dyn;
  const row = objectOf(Object.fromEntries(table.outputs.map(({ id }) => [id, dyn])));
  return table.hitPolicy === 'collect' ? listOf(row) : row;
}
