import type { DecisionTable, ProcessSpec } from './definition.ts';
import { type ProcessEnvironments, variableOf } from './environments.ts';
import { compileExpression } from './expressions/expressions.ts';
import { ExpressionProblem, parseExpression } from './expressions/parse-expression.ts';
import { type ProcessProblem, problem, warning } from './problems.ts';
import { admits, type Cell, cellOf, covers, overlap, samplesOf } from './table-cells.ts';

/** Problems in decision tables (docs/reference/processes.md#language). */

const problemsMax = 50;
/** How many combinations of values are tried at most in the search for one that no rule matches. */
const trialsMax = 100_000;

/**
 * Reports `invalid_table_cell` and the problems of the cells' expressions, `table_overlap` if two rules of a table with
 * the policy `unique` certainly match together, and the warnings `table_gap` and `table_rule_unreachable`. Cells with
 * unknown values cause no problem. @param named called with each calendar that a cell refers to; null for the calendar
 * of the process
 */
export function* checkTables(
  { decisions }: ProcessSpec,
  { tables }: Pick<ProcessEnvironments, 'tables'>,
  named: (calendar: string | null, path: string) => void,
): Generator<void, ProcessProblem[]> {
  const found: ProcessProblem[] = [];
  for (const [n, table] of decisions.entries()) {
    const path = `/decisions/${n}`;
    const rows: Cell[][] = [];
    for (const [m, rule] of table.rules.entries()) {
      const { cells, problems } = readRule(table, rule, `${path}/rules/${m}`, tables, named);
      if (found.length < problemsMax) found.push(...problems);
      rows.push(cells);
      yield;
    }
    found.push(...(yield* comparing(table, rows, path)));
    found.push(...gapsIn(table, rows, path));
    yield;
  }
  return found;
}

function readRule(
  { id, inputs, outputs }: DecisionTable,
  { when, then }: DecisionTable['rules'][number],
  path: string,
  tables: ProcessEnvironments['tables'],
  named: (calendar: string | null, path: string) => void,
): { cells: Cell[]; problems: ProcessProblem[] } {
  const problems: ProcessProblem[] = [];
  const wrong = (at: string, message: string) =>
    problems.push(problem('invalid_table_cell', path + at, message));
  if (when.length !== inputs.length) wrong('/when', `has ${when.length} cells for ${inputs.length} inputs`);
  if (then.length !== outputs.length)
    wrong('/then', `has ${then.length} cells for ${outputs.length} outputs`);
  const environment = tables.get(id) as NonNullable<ReturnType<typeof tables.get>>;
  const check = (text: string, at: string, wantsBool: boolean): boolean => {
    try {
      const { type, calendars } = compileExpression(text, environment);
      for (const key of calendars) named(key, path + at);
      const { kind } = type;
      if (!wantsBool || kind === 'bool' || kind === 'dyn') return true;
      wrong(at, `a condition must yield bool, not ${kind}`);
    } catch (error) {
      if (!(error instanceof ExpressionProblem)) throw error;
      wrong(at, error.message);
    }
    return false;
  };
  for (const [n, text] of then.entries()) check(text, `/then/${n}`, false);
  const cells = when.map((text, n): Cell => {
    const { id: input } = inputs[n] ?? {};
    if (!check(text, `/when/${n}`, true) || input === undefined) return { kind: 'unknown' };
    return cellOf(parseExpression(text), variableOf(input));
  });
  return { cells, problems };
}

/** Compares each rule with the rules before it. */
function* comparing(
  { hitPolicy }: DecisionTable,
  rows: readonly (readonly Cell[])[],
  path: string,
): Generator<void, ProcessProblem[]> {
  const found: ProcessProblem[] = [];
  for (const [n, row] of rows.entries()) {
    if (found.length >= problemsMax) break;
    const at = `${path}/rules/${n}`;
    const isHit = (other: readonly Cell[], test: (a: Cell, b: Cell) => boolean) =>
      other.length === row.length && other.every((cell, m) => test(cell, row[m] as Cell));
    const earlier = rows.slice(0, n);
    const same = hitPolicy === 'unique' ? earlier.findIndex((other) => isHit(other, overlap)) : -1;
    if (same >= 0) found.push(problem('table_overlap', at, `rule ${same} matches where this one does`));
    const wider = hitPolicy === 'first' ? earlier.findIndex((other) => isHit(other, covers)) : -1;
    if (wider >= 0)
      found.push(warning('table_rule_unreachable', at, `rule ${wider} matches wherever this one does`));
    yield;
  }
  return found;
}

function gapsIn(
  { inputs }: DecisionTable,
  rows: readonly (readonly Cell[])[],
  path: string,
): ProcessProblem[] {
  if (rows.some((row) => row.every(({ kind }) => kind === 'any' || kind === 'unknown'))) return [];
  if (rows.some((row) => row.length !== inputs.length)) return [];
  const samples = inputs.map((_, n) => samplesOf(rows.map((row) => row[n] as Cell)));
  const combinations = samples.reduce((product, { length }) => product * length, 1);
  if (combinations * rows.length > trialsMax) return [];
  for (let n = 0; n < combinations; n += 1) {
    let rest = n;
    const given = samples.map((values) => {
      const value = values[rest % values.length];
      rest = Math.floor(rest / values.length);
      return value as string | number | boolean;
    });
    if (!rows.some((row) => row.every((cell, m) => admits(cell, given[m] as string))))
      return [warning('table_gap', path, 'no rule matches some inputs')];
  }
  return [];
}
