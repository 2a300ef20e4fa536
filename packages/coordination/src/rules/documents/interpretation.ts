import { z } from 'zod';
import { AnyJson } from './any-json.ts';
import { conditionRoots } from './condition.ts';
import { parseRuleDocument, refuseFaults } from './faults.ts';
import { findTemplateFault, textsIn } from './template.ts';

/** The skill call that a rule makes before it acts (docs/reference/rules.md#interpretation). */
export const RuleInterpretation = z
  .strictObject({
    skill: z
      .string()
      .regex(/^[^@\s][^@]{0,199}@[^@\s]{1,50}$/)
      .meta({ description: 'As `name@version`.', examples: ['judge-severity@1.0.0'] }),
    inputs: z.record(z.string().min(1).max(200), AnyJson).default({}),
  })
  .meta({ id: 'RuleInterpretation' });
export type RuleInterpretation = z.output<typeof RuleInterpretation>;

/**
 * @param sent undefined and null mean no interpretation
 * @throws Refusal `invalid_rule_interpretation`, those of documents
 */
export function parseInterpretation(sent: unknown): RuleInterpretation | null {
  if (sent == null) return null;
  const code = 'invalid_rule_interpretation';
  const interpretation = parseRuleDocument(RuleInterpretation, sent, 'interpretation', code);
  refuseFaults(
    code,
    collectInterpretationTexts(interpretation).flatMap(({ field, text }) => {
      const message = findTemplateFault(text, conditionRoots);
      return message === undefined ? [] : [{ field, message }];
    }),
  );
  return interpretation;
}

/** The strings that may contain placeholders. */
export function collectInterpretationTexts(interpretation: RuleInterpretation | null) {
  return interpretation === null ? [] : textsIn(interpretation.inputs, 'interpretation.inputs');
}
