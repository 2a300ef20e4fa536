import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import type { Assignee, Due } from '@baton/process-engine/language/forms';
import { type ProcessProblem, problem, warning } from '@baton/process-engine/language/problems';
import type { Step } from '@baton/process-engine/language/step';
import type { JsonObject } from '@baton/values/wire';
import { findKnownDocuments } from '../../memory/knowledge/documents.ts';
import { findPinnedSkills } from '../../organisation/skills/skills.ts';
import { findKnownAgents } from '../../registry/agent-identity/acting-agents.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import {
  findActiveTaskTypes,
  findCalendarsOfKeys,
  findOutputSchemas,
  findSeenProcesses,
  findWantedInputs,
} from './references.sql.ts';

/** The objects of the tenant that a definition refers to (docs/reference/processes.md#problems). */

interface Named {
  readonly name: string;
  readonly path: string;
}

/** The objects that the same package creates, which therefore need not exist yet. */
export interface GivenNames {
  readonly taskTypes: ReadonlySet<string>;
  readonly agents: ReadonlySet<string>;
  readonly processes: ReadonlySet<string>;
  readonly calendars: ReadonlyMap<string, { readonly is_retired: boolean; readonly has_hours: boolean }>;
}

const nothingGiven: GivenNames = {
  taskTypes: new Set(),
  agents: new Set(),
  processes: new Set(),
  calendars: new Map(),
};

export interface References {
  readonly problems: ProcessProblem[];
  /** The keys of the calendars that the definition uses. */
  readonly calendars: readonly string[];
}

/**
 * @param inExpressions the keys of calendars in expressions, and where they occur; null for the process's own calendar
 * @param given the objects that count as existing
 * @returns problems `unknown_task_type`, `unknown_agent`, `unknown_skill`, `skill_input_missing`, `unknown_calendar`,
 * `calendar_retired`, `schema_violation` for a called process that the caller may not see, `sla_calendar_missing`,
 * `sla_calendar_without_hours`, `governed_by_unknown_document`, `governed_by_unchecked`
 */
export async function findReferenceProblems(
  context: Context,
  spec: ProcessSpec,
  inExpressions: ReadonlyMap<string | null, string>,
  given: GivenNames = nothingGiven,
): Promise<References> {
  const elements = [...elementsOf(spec)].flatMap(({ step, path }) =>
    step === undefined ? [] : [{ step, path }],
  );
  const calendars = await calendarProblems(context, spec, elements, inExpressions, given);
  return {
    problems: [
      ...(await taskTypeProblems(context, spec, elements, given)),
      ...(await agentProblems(context, spec, elements, given)),
      ...(await skillProblems(context, elements)),
      ...(await calledProblems(context, elements, given)),
      ...calendars.problems,
      ...(await documentWarnings(context, spec, elements)),
    ],
    calendars: calendars.calendars,
  };
}

type PlacedStep = { readonly step: Step; readonly path: string };

async function taskTypeProblems(
  { db, tenantId }: Context,
  { retrospective }: ProcessSpec,
  elements: readonly PlacedStep[],
  given: GivenNames,
): Promise<ProcessProblem[]> {
  const named: Named[] = elements.flatMap(({ step: { human, call }, path }) => [
    ...(human === undefined ? [] : [{ name: human.taskType, path: `${path}/human/taskType` }]),
    ...(call?.taskType === undefined ? [] : [{ name: call.taskType, path: `${path}/call/taskType` }]),
  ]);
  if (retrospective !== undefined)
    named.push({ name: retrospective.taskType, path: '/retrospective/taskType' });
  const rows = await db.rows(findActiveTaskTypes(tenantId, namesOf(named)));
  const known = new Set([...rows.map(({ key }) => key), ...given.taskTypes]);
  return absent(named, known).map(({ name, path }) =>
    problem('unknown_task_type', path, `no active task type has the key ${name}`),
  );
}

function namesOf(named: readonly Named[]): string[] {
  return [...new Set(named.map(({ name }) => name))];
}

function absent(named: readonly Named[], known: ReadonlySet<string>): Named[] {
  return named.filter(({ name }) => !known.has(name));
}

async function agentProblems(
  context: Context,
  { owner, retrospective }: ProcessSpec,
  elements: readonly PlacedStep[],
  given: GivenNames,
): Promise<ProcessProblem[]> {
  const named: Named[] = [
    ...agentsIn(owner, '/owner'),
    ...agentsIn(retrospective?.assign, '/retrospective/assign'),
    ...elements.flatMap(({ step: { human, approve, call }, path }) => [
      ...agentsIn(human?.assign, `${path}/human/assign`),
      ...agentsIn(approve?.approvers, `${path}/approve/approvers`),
      ...(human?.escalations ?? []).flatMap(({ to }, n) => agentsIn(to, `${path}/human/escalations/${n}/to`)),
      ...(approve?.escalations ?? []).flatMap(({ to }, n) =>
        agentsIn(to, `${path}/approve/escalations/${n}/to`),
      ),
      ...(call?.agent === undefined ? [] : [{ name: call.agent, path: `${path}/call/agent` }]),
    ]),
  ];
  const known = new Set([...(await findKnownAgents(context, namesOf(named))), ...given.agents]);
  return absent(named, known).map(({ name, path }) =>
    problem('unknown_agent', path, `no agent has the key ${name}`),
  );
}

function agentsIn(chain: readonly Assignee[] | undefined, path: string): Named[] {
  return (chain ?? []).flatMap(({ agent }, n) =>
    agent === undefined ? [] : [{ name: agent, path: `${path}/${n}/agent` }],
  );
}

async function skillProblems(context: Context, elements: readonly PlacedStep[]): Promise<ProcessProblem[]> {
  const calls = elements.flatMap(({ step: { call }, path }) =>
    call?.skill === undefined ? [] : [{ name: call.skill, input: call.input, path: `${path}/call` }],
  );
  if (calls.length === 0) return [];
  const known = await findPinnedSkills(context, namesOf(calls));
  const parts = namesOf(calls).map((ref) => ref.split('@', 2) as [string, string]);
  const rows = await context.db.rows(
    findWantedInputs(
      context.tenantId,
      parts.map(([name]) => name),
      parts.map(([, version]) => version),
    ),
  );
  const wantedBy = new Map(rows.map(({ name, version, wanted }) => [`${name}@${version}`, wanted ?? []]));
  return calls.flatMap(({ name, input, path }) => {
    const skill = known.get(name);
    if (skill === undefined || skill.obstacle !== undefined)
      return [problem('unknown_skill', `${path}/skill`, `no callable skill has the name ${name}`)];
    return (wantedBy.get(name) ?? [])
      .filter((wanted) => !Object.hasOwn(input, wanted))
      .map((wanted) => problem('skill_input_missing', `${path}/input`, `${name} wants ${wanted}`));
  });
}

/** The output schemas of the skills whose results are exported, by `name@version`. */
export async function findExportedOutputs(
  { db, tenantId }: Context,
  spec: ProcessSpec,
): Promise<ReadonlyMap<string, JsonObject>> {
  const exporting = [...elementsOf(spec)].flatMap(({ step }) =>
    step?.call?.skill !== undefined && step.export !== undefined ? [step.call.skill] : [],
  );
  if (exporting.length === 0) return new Map();
  const parts = [...new Set(exporting)].map((ref) => ref.split('@', 2) as [string, string]);
  const [names, versions] = [parts.map(([name]) => name), parts.map(([, version]) => version)];
  const rows = await db.rows(findOutputSchemas(tenantId, names, versions));
  return new Map(rows.map(({ name, version, outputs }) => [`${name}@${version}`, outputs]));
}

/**
 * An author who sees only some workspaces can't call a process in another one: a hidden process is treated as missing.
 * Every other author may publish a process before the one that it calls.
 */
async function calledProblems(
  context: Context,
  elements: readonly PlacedStep[],
  given: GivenNames,
): Promise<ProcessProblem[]> {
  const viewer = await viewerOf(context);
  const named = elements.flatMap(({ step: { call }, path }) =>
    call?.process === undefined
      ? []
      : [{ name: call.process.split('@', 1)[0] as string, path: `${path}/call/process` }],
  );
  if (viewer === null || named.length === 0) return [];
  const { db, tenantId } = context;
  const seen = await db.rows(findSeenProcesses(tenantId, viewer, namesOf(named)));
  const known = new Set([...seen.map(({ key }) => key), ...given.processes]);
  return absent(named, known).map(({ name, path }) =>
    problem('schema_violation', path, `no process has the key ${name}`),
  );
}

/** Maximum number of calendars per definition, because each input of an instance reads all of them. */
const calendarsMax = 100;

interface Leaning extends Named {
  readonly wantsHours: boolean;
}

async function calendarProblems(
  { db, tenantId }: Context,
  spec: ProcessSpec,
  elements: readonly PlacedStep[],
  inExpressions: ReadonlyMap<string | null, string>,
  given: GivenNames,
): Promise<References> {
  const dues = [
    { due: spec.due, path: '/due' },
    { due: spec.retrospective?.due, path: '/retrospective/due' },
    ...elements.flatMap(({ step: { human, approve, call }, path }) => [
      { due: human?.due, path: `${path}/human/due` },
      { due: approve?.due, path: `${path}/approve/due` },
      { due: call?.due, path: `${path}/call/due` },
    ]),
  ];
  const problems: ProcessProblem[] = [];
  const leaning: Leaning[] = [];
  if (spec.calendar !== undefined)
    leaning.push({ name: spec.calendar, path: '/calendar', wantsHours: false });
  for (const { due, path } of dues) {
    if (!isWorkingTime(due) && due?.calendar === undefined) continue;
    const name = due?.calendar ?? spec.calendar;
    if (name === undefined)
      problems.push(
        problem('sla_calendar_missing', path, 'working time requires a calendar, here or in the process'),
      );
    else leaning.push({ name, path, wantsHours: due?.workhours !== undefined });
  }
  for (const [key, path] of inExpressions) {
    const name = key ?? spec.calendar;
    if (name === undefined)
      problems.push(problem('sla_calendar_missing', path, 'the process specifies no calendar'));
    else leaning.push({ name, path, wantsHours: false });
  }
  const named = namesOf(leaning);
  if (named.length > calendarsMax)
    problems.push(problem('schema_violation', '', `refers to more than ${calendarsMax} calendars`));
  const rows = leaning.length === 0 ? [] : await db.rows(findCalendarsOfKeys(tenantId, named));
  const known = new Map([...rows.map((row) => [row.key, row] as const), ...given.calendars]);
  problems.push(...leaning.flatMap((one) => problemsOfCalendar(one, known.get(one.name))));
  return { problems, calendars: named };
}

function isWorkingTime(due: Due | undefined): boolean {
  return due?.workdays !== undefined || due?.workhours !== undefined;
}

function problemsOfCalendar(
  { name, path, wantsHours }: Leaning,
  calendar: { is_retired: boolean; has_hours: boolean } | undefined,
): ProcessProblem[] {
  if (calendar === undefined) return [problem('unknown_calendar', path, `no calendar has the key ${name}`)];
  if (calendar.is_retired) return [problem('calendar_retired', path, `the calendar ${name} is retired`)];
  if (!wantsHours || calendar.has_hours) return [];
  return [problem('sla_calendar_without_hours', path, `the calendar ${name} has no working hours`)];
}

/**
 * The memory service can't be queried for a document by its key: only documents that were stored through Baton are
 * known. Memory may have others, so this is only a warning.
 */
async function documentWarnings(
  context: Context,
  { governedBy }: ProcessSpec,
  elements: readonly PlacedStep[],
): Promise<ProcessProblem[]> {
  const places = [
    { names: governedBy, path: '/governedBy' },
    ...elements.map(({ step, path }) => ({ names: step.governedBy ?? [], path: `${path}/governedBy` })),
  ].filter(({ names }) => names.length > 0);
  const named = places.flatMap(({ names, path }) => names.map((name, n) => ({ name, path: `${path}/${n}` })));
  const known = await findKnownDocuments(context, namesOf(named));
  if (known === undefined)
    return places.map(({ path }) =>
      warning('governed_by_unchecked', path, 'these documents cannot be verified without a memory service'),
    );
  return absent(named, known).map(({ name, path }) =>
    warning('governed_by_unknown_document', path, `no document ${name} was stored through Baton`),
  );
}
