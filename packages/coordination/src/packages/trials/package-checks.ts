import type { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { inSlices } from '@baton/kernel/limits/slices';
import { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import { pointer, problem, reported } from '@baton/process-engine/language/problems';
import { readDefinition } from '@baton/process-engine/language/read-definition';
import { prepareSchema } from '@baton/values/json-schema/schema';
import { parseLifecycle } from '../../definitions/task-types/lifecycle-grammar.ts';
import { systemLifecycle } from '../../definitions/task-types/system-type.ts';
import { NewTaskType } from '../../definitions/task-types/task-type.ts';
import { parseCalendarSpec } from '../../organisation/calendars/calendar-spec.ts';
import { getDefinitionRow } from '../../processes/definitions/definitions.ts';
import type { GivenNames } from '../../processes/definitions/references.ts';
import { RuleRequest } from '../../rules/catalog/rule.ts';
import {
  parseIdentity,
  parseRuleDocuments,
  type RuleDocuments,
} from '../../rules/documents/rule-documents.ts';
import { documentBytesMax } from '../../service/documents.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import { validateProcess } from '../catalog/process-problems.ts';
import type { Context } from '../context.ts';
import type { PackageDocument, PackageProblem } from '../source/package-source.ts';
import type { SimulatedTaskType } from './task-type-tests.ts';

/** Problems of the documents of a package that tests can refer to (docs/reference/processes.md#problems). */

/** Maximum number of problems per document and per package, as for files. */
const documentProblemsMax = 50;
const problemsMax = 500;

export interface CheckedProcess {
  readonly spec: ProcessSpec;
  /** The keys of the calendars that the definition uses. */
  readonly calendars: readonly string[];
}

/** The valid documents of a package, by key. */
export interface CheckedPackage {
  readonly problems: PackageProblem[];
  readonly processes: Map<string, CheckedProcess>;
  readonly calendars: Map<string, WorkingCalendar>;
  readonly rules: Map<string, RuleDocuments>;
  readonly taskTypes: Map<string, SimulatedTaskType>;
}

/**
 * Validates processes, rules, task types and calendars as their own writers would, but only reads. Agents and views are
 * validated only by a plan.
 * @param untilMs as measured by `performance.now()`: any document that hasn't been validated by then gets a problem
 */
export async function checkPackage(
  context: Context,
  documents: readonly PackageDocument[],
  problems: readonly PackageProblem[],
  untilMs: number,
): Promise<CheckedPackage> {
  const checked: CheckedPackage = {
    problems: [...problems],
    processes: new Map(),
    calendars: new Map(),
    rules: new Map(),
    taskTypes: new Map(),
  };
  const of = (kind: PackageDocument['kind']) => documents.filter((document) => document.kind === kind);
  await inSlices(checkingAlone(checked, [...of('Calendar'), ...of('TaskType'), ...of('WorkRule')]));
  const keysOf = (kind: PackageDocument['kind']) => new Set(of(kind).map(({ key }) => key));
  const given: GivenNames = {
    taskTypes: keysOf('TaskType'),
    agents: keysOf('Agent'),
    processes: keysOf('Process'),
    calendars: new Map(
      [...checked.calendars].map(([key, { hasHours }]) => [key, { is_retired: false, has_hours: hasHours }]),
    ),
  };
  for (const document of of('Process')) {
    if (performance.now() > untilMs) add(checked, document, [late]);
    else await checkProcess(context, checked, document, given);
  }
  return checked;
}

const late = problem('invalid_document', '', 'was not validated: the call has used up its time');

type Finding = Pick<PackageProblem, 'code' | 'severity' | 'path' | 'message'>;

/** @param findings with paths relative to the document's spec */
export function add(
  { problems }: CheckedPackage,
  { file }: PackageDocument,
  findings: readonly Finding[],
): void {
  const room = Math.min(documentProblemsMax, problemsMax - problems.length);
  for (const { code, severity, path, message } of findings.slice(0, Math.max(0, room)))
    problems.push({ code, severity, path: `/spec${path}`, file, message });
}

export function describeIssues({ issues }: z.ZodError): Finding[] {
  return issues.map(({ path, message }) =>
    problem('invalid_document', pointer(...path.map(String)), message),
  );
}

type Kept = 'Calendar' | 'TaskType' | 'WorkRule';

const checks: { readonly [Kind in Kept]: (checked: CheckedPackage, document: PackageDocument) => void } = {
  Calendar({ calendars }, { key, spec }) {
    calendars.set(key, new WorkingCalendar(parseCalendarSpec(CalendarSpec.parse(spec))));
  },
  TaskType({ taskTypes }, { key, spec }) {
    const { fieldSchema, lifecycleSchema, acceptance, approvalSchema, completionSchema } = NewTaskType.parse({
      ...spec,
      key,
    });
    checkStoredSchema(fieldSchema, { field: 'fieldSchema', bytesMax: documentBytesMax });
    const declares = (document: unknown) => Object.keys(document ?? {}).length > 0;
    taskTypes.set(key, {
      key,
      lifecycle: parseLifecycle(lifecycleSchema ?? systemLifecycle),
      fieldSchema: prepareSchema(fieldSchema),
      hasChecks: acceptance.length > 0,
      declaresWork: declares(approvalSchema) || declares(completionSchema),
      reachedStatuses: new Set(),
      reachedMoves: new Set(),
    });
  },
  WorkRule({ rules }, { key, spec }) {
    const request = RuleRequest.parse({ ...spec, key });
    const documents = parseRuleDocuments(request);
    parseIdentity(request.identity);
    rules.set(key, documents);
  },
};

function* checkingAlone(
  checked: CheckedPackage,
  documents: readonly PackageDocument[],
): Generator<void, void> {
  for (const document of documents) {
    try {
      checks[document.kind as Kept](checked, document);
    } catch (error) {
      add(checked, document, refusalsOf(error));
    }
    yield;
  }
}

/** A writer's refusals as problems. @throws errors other than refusals */
function refusalsOf(error: unknown): Finding[] {
  if (error instanceof Refusal) {
    const { field, path, message } = error.details;
    const at = typeof field === 'string' ? pointer(...field.split('.')) : '';
    const within = typeof path === 'string' && path.startsWith('/') ? path : '';
    const said = typeof message === 'string' ? message : error.code.replaceAll('_', ' ');
    const { message: shown, path: shownPath } = problem('invalid_document', at + within, said);
    return [{ code: error.code, severity: 'error', path: shownPath, message: shown }];
  }
  if (isFormFault(error)) return describeIssues(error);
  throw error;
}

function isFormFault(error: unknown): error is z.ZodError {
  return error instanceof Error && 'issues' in error;
}

async function checkProcess(
  context: Context,
  checked: CheckedPackage,
  document: PackageDocument,
  given: GivenNames,
): Promise<void> {
  const { spec, problems: found } = await inSlices(readDefinition(document.spec));
  if (spec === undefined) return add(checked, document, reported(found));
  const before = await elementsBefore(context, document.key);
  const { problems, calendars } = await validateProcess(context, spec, before, given);
  // Unresolved variables were reported when the files were read.
  const own = found.filter(({ code }) => code !== 'unresolved_install_variable');
  add(checked, document, reported([...own, ...problems]));
  checked.processes.set(document.key, { spec, calendars });
}

/** The elements of the existing version, if the caller sees it. */
async function elementsBefore(context: Context, key: string): Promise<Map<string, string>> {
  try {
    const { spec } = await getDefinitionRow(context, key, null);
    return new Map([...elementsOf(spec)].map(({ id, kind }) => [id, kind]));
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return new Map();
    throw error;
  }
}
