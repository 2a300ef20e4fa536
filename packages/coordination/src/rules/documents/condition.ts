import { roundedIntegerIn } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import { faultInCondition } from '../../definitions/declared-actions/condition.ts';
import { refuseFaults } from './faults.ts';

const levelsMax = 16;
/** What the paths of a rule's condition may begin with. */
export const conditionRoots = ['trigger', 'payload', 'goal', 'task'];

/** What the conditions of rules are held to (organisation, section 8.3). */
export const conditionBounds = (roots: readonly string[]) => ({ levelsMax, roots });

/** @param sent undefined and null are `true` @throws Refusal `invalid_rule_condition` */
export function parseCondition(sent: unknown): Json {
  if (sent == null) return true;
  const condition = sent as Json;
  const rounded =
    typeof condition === 'object' && condition !== null ? roundedIntegerIn(condition) : undefined;
  const message =
    rounded === undefined
      ? faultInCondition(condition, conditionBounds(conditionRoots))
      : 'holds an integer that a double cannot hold exactly';
  if (message !== undefined) refuseFaults('invalid_rule_condition', [{ field: 'condition', message }]);
  return condition;
}
