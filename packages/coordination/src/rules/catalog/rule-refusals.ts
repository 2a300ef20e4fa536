/** Codes for invalid rule documents, in the order of checks; the general codes of documents are not listed by field. */
export const documentErrors = [
  'invalid_rule_trigger',
  'invalid_rule_condition',
  'invalid_rule_interpretation',
  'invalid_rule_action',
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'secret_material_rejected',
] as const;

/** Codes for unresolved references, checked after workspace and goal. */
export const referenceErrors = [
  'goal_abandoned',
  'unknown_agent',
  'unknown_task_type',
  'unknown_role',
  'unknown_skill',
  'rule_skill_side_effects',
  'invalid_acceptance_spec',
  'invalid_rule',
  'permission_escalation',
] as const;
