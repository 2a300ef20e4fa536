import { z } from 'zod';
import type { Json } from '@baton/values/wire';
import { refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { creatingKinds, parseAction, type RuleAction } from './action.ts';
import { parseCondition } from './condition.ts';
import { parseRuleDocument, refuseFaults } from './faults.ts';
import { parseInterpretation, type RuleInterpretation } from './interpretation.ts';
import { textsIn } from './template.ts';
import { AgentKey, parseTrigger, type RuleTrigger } from './trigger.ts';

/** The identity that a rule acts as, instead of the principal who enabled it. */
export const RuleIdentity = z.strictObject({ agent: AgentKey }).meta({ id: 'RuleIdentity' });

/** The documents of a rule, as sent by the client. */
export interface SentDocuments {
  readonly trigger: unknown;
  readonly condition?: unknown;
  readonly interpretation?: unknown;
  readonly action: unknown;
}

/** The parsed documents, as they are stored and evaluated. */
export interface RuleDocuments {
  readonly trigger: RuleTrigger;
  readonly condition: Json;
  readonly interpretation: RuleInterpretation | null;
  readonly action: RuleAction;
}

/**
 * Parses the documents of a rule in the order of docs/reference/rules.md#operations.
 * @throws Refusal `invalid_rule_trigger`, `invalid_rule_condition`, `invalid_rule_interpretation`,
 * `invalid_rule_action`, those of documents, `secret_material_rejected`
 */
export function parseRuleDocuments(sent: SentDocuments): RuleDocuments {
  const trigger = parseTrigger(sent.trigger);
  const condition = parseCondition(sent.condition);
  const interpretation = parseInterpretation(sent.interpretation);
  const action = parseAction(sent.action, trigger, interpretation !== null);
  if (trigger.kind === 'schedule' && interpretation === null && creatingKinds.includes(action.kind))
    refuseFaults('invalid_rule_interpretation', [
      { field: 'interpretation', message: 'is required for a schedule that files tasks' },
    ]);
  const documents = { trigger, condition, interpretation, action };
  for (const [field, document] of Object.entries(documents)) refuseSecrets(document as Json, field);
  return documents;
}

/** @throws Refusal `secret_material_rejected` */
function refuseSecrets(document: Json, field: string): void {
  refuseSecretKeys(document, field);
  for (const { field: at, text } of textsIn(document, field)) refuseSecretText(text, at.slice(0, 200));
}

/**
 * The key of the agent that a rule acts as; null without an identity.
 * @throws Refusal `invalid_rule`, those of documents
 */
export function parseIdentity(sent: unknown): string | null {
  return sent == null ? null : parseRuleDocument(RuleIdentity, sent, 'identity', 'invalid_rule').agent;
}
