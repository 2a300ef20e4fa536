import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import { reported } from '@baton/process-engine/language/problems';
import type { JsonObject } from '@baton/values/wire';
import type { NewTaskType } from '../../definitions/task-types/task-type.ts';
import { checkTaskType } from '../../definitions/task-types/task-types.ts';
import { findMigrationProblems } from '../../processes/definitions/declared-migrations.ts';
import type { GivenNames } from '../../processes/definitions/references.ts';
import type { AgentSpec } from '../../registry/agents/agent-spec.ts';
import { validateAgent } from '../../registry/agents/publish-agent.ts';
import type { RuleRequest } from '../../rules/catalog/rule.ts';
import { checkRule } from '../../rules/catalog/rules.ts';
import { checkDocument } from '../../service/documents.ts';
import { validateProcess } from '../catalog/process-problems.ts';
import type { Context } from '../context.ts';
import type { PackageProblem } from '../source/package-source.ts';
import type { Change, Desired } from './changes.ts';
import { describeRefusal } from './desired.ts';

type Finding = Pick<PackageProblem, 'code' | 'severity' | 'path' | 'message'>;

/** Permissions and visibility that the caller may not grant are refused by the apply, not by the plan. */
const rightsCodes = ['permission_escalation', 'permission_denied', 'visibility_escalation'];

/** Codes for missing references, which the package may create. */
const absentCodes = ['unknown_reference', 'unknown_task_type', 'unknown_agent', 'unknown_calendar'];

/**
 * The refusals that the writers of the objects would return for these changes, determined by reads alone
 * (docs/reference/packages.md#plan).
 * @param desired all documents of the package, which may create objects that other documents refer to
 */
export async function validateChanges(
  context: Context,
  changes: readonly Change[],
  desired: readonly Desired[],
): Promise<PackageProblem[]> {
  const given = givenBy(desired);
  const problems: PackageProblem[] = [];
  for (const { desired: document, written, world } of changes) {
    if (document === undefined || written === undefined) continue;
    const found = await judged(context, document, written, world?.state ?? null, given);
    problems.push(...found.map((one) => ({ ...one, file: document.file })));
    // Without database queries in between, 100 large types would block the event loop for half a second.
    await nextTurn();
  }
  return problems;
}

function givenBy(desired: readonly Desired[]): GivenNames {
  const of = (kind: Desired['kind']) => desired.filter((one) => one.kind === kind);
  return {
    taskTypes: new Set(of('TaskType').map(({ key }) => key)),
    agents: new Set(of('Agent').map(({ key }) => key)),
    processes: new Set(of('Process').map(({ key }) => key)),
    calendars: new Map(
      of('Calendar').map(({ key, spec }) => [
        key,
        { is_retired: false, has_hours: (spec as CalendarSpec).workingHours != null },
      ]),
    ),
  };
}

async function judged(
  context: Context,
  { kind, key }: Desired,
  written: JsonObject,
  before: JsonObject | null,
  given: GivenNames,
): Promise<Finding[]> {
  try {
    if (kind === 'Process')
      return await processProblems(context, written as unknown as ProcessSpec, { key, before }, given);
    if (kind === 'TaskType') await checkTaskType(context, { ...written, key } as unknown as NewTaskType);
    if (kind === 'Agent') await validateAgent(context, { key, spec: written as unknown as AgentSpec });
    if (kind === 'Calendar') checkDocument(written, { field: 'spec' });
    if (kind === 'WorkRule')
      await checkRule(context, { ...written, key } as unknown as RuleRequest, { given });
    return [];
  } catch (error) {
    const told = describeRefusal(error);
    return isGiven(error, given) ? [] : told.filter(({ code }) => !rightsCodes.includes(code));
  }
}

/** Whether the package contains every object that a refusal reports as missing. */
function isGiven(error: unknown, { taskTypes, agents }: GivenNames): boolean {
  const { code, details } = error as { code: string; details: Readonly<Record<string, unknown>> };
  const name = details['value'] ?? details['taskType'] ?? details['agentKey'];
  return absentCodes.includes(code) && typeof name === 'string' && (taskTypes.has(name) || agents.has(name));
}

async function processProblems(
  context: Context,
  spec: ProcessSpec,
  { key, before }: { key: string; before: JsonObject | null },
  given: GivenNames,
): Promise<Finding[]> {
  const elements = new Map(
    before === null
      ? []
      : [...elementsOf(before as unknown as ProcessSpec)].map(({ id, kind }) => [id, kind]),
  );
  const { problems } = await validateProcess(context, spec, elements, given);
  const found = [...problems, ...(await findMigrationProblems(context, key, spec))];
  return reported(found).map(({ code, severity, path, message }) => ({
    code,
    severity,
    path: `/spec${path}`,
    message,
  }));
}
