import { z } from 'zod';

/** Problems in the definition of a process (docs/reference/processes.md#problems). */

const errorCodes = [
  'schema_violation',
  'invalid_yaml',
  'invalid_document',
  'unresolved_install_variable',
  'unresolved_data_ref',
  'expression_syntax_error',
  'expression_type_error',
  'expression_too_complex',
  'unknown_data_field',
  'data_type_mismatch',
  'unknown_skill',
  'unknown_task_type',
  'unknown_agent',
  'unknown_calendar',
  'unknown_decision_table',
  'skill_input_missing',
  'duplicate_element_id',
  'element_kind_changed',
  'unreachable_step',
  'unreachable_stage',
  'dead_end',
  'invalid_table_cell',
  'table_overlap',
  'sla_calendar_missing',
  'sla_calendar_without_hours',
  'calendar_retired',
] as const;

const warningCodes = [
  'table_gap',
  'table_rule_unreachable',
  'process_owner_missing',
  'element_removed',
  'unwritten_data_field',
  'unreachable_milestone',
  'governed_by_unknown_document',
  'governed_by_unchecked',
] as const;

export type ErrorProblemCode = (typeof errorCodes)[number];
export type WarningCode = (typeof warningCodes)[number];

export const ProcessProblem = z
  .strictObject({
    code: z.enum([...errorCodes, ...warningCodes]),
    severity: z.enum(['error', 'warning']),
    path: z.string().describe('A JSON pointer into the definition.'),
    line: z.int().optional().describe('The line in the YAML text.'),
    message: z.string(),
  })
  .meta({ id: 'ProcessProblem' });
export type ProcessProblem = z.infer<typeof ProcessProblem>;

/** The maximum number of reported problems: 50 violations of the definition's schema, and 200 in total. */
export const shapeProblemsMax = 50;
export const problemsMax = 200;

const messageCharactersMax = 300;
const pathCharactersMax = 300;

export function problem(code: ErrorProblemCode, path: string, message: string): ProcessProblem {
  return { code, severity: 'error', ...shown(path, message) };
}

export function warning(code: WarningCode, path: string, message: string): ProcessProblem {
  return { code, severity: 'warning', ...shown(path, message) };
}

function shown(path: string, message: string) {
  return {
    path: path.slice(0, pathCharactersMax).toWellFormed(),
    message: message.slice(0, messageCharactersMax).toWellFormed(),
  };
}

/** The reported problems: errors before warnings. */
export function reported(problems: readonly ProcessProblem[]): ProcessProblem[] {
  const ordered = ['error', 'warning'].flatMap((severity) =>
    problems.filter((one) => one.severity === severity),
  );
  return ordered.slice(0, problemsMax);
}

/** One segment of a JSON pointer. */
export function pointer(...names: readonly (string | number)[]): string {
  return names.map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
