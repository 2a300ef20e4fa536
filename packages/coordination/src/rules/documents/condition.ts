import { roundedIntegerIn } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import { findConditionFault } from '../../definitions/declared-actions/condition.ts';
import { refuseFaults } from './faults.ts';

const levelsMax = 16;
/** The possible roots of paths in a rule's condition. */
export const conditionRoots = ['trigger', 'payload', 'goal', 'task'];

/** The limits of rules' conditions (docs/reference/rules.md#condition). */
export const conditionBounds = (roots: readonly string[]) => ({ levelsMax, roots });

/** @param sent undefined and null count as `true` @throws Refusal `invalid_rule_condition` */
export function parseCondition(sent: unknown): Json {
  if (sent == null) return true;
  const condition = sent as Json;
  const rounded =
    typeof condition === 'object' && condition !== null ? roundedIntegerIn(condition) : undefined;
  const message =
    rounded === undefined
      ? findConditionFault(condition, conditionBounds(conditionRoots))
      : 'contains an integer that a double cannot represent exactly';
  if (message !== undefined) refuseFaults('invalid_rule_condition', [{ field: 'condition', message }]);
  return condition;
}
