import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { inSlices } from '@baton/kernel/limits/slices';
import type { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import { prepareSchema } from '@baton/values/json-schema/schema';
import { Uuid } from '@baton/values/wire';
import { workingCalendarsOf } from '../../organisation/calendars/compute-with-calendar.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { preparedOf } from '../../processes/instances/definitions-in-use.ts';
import { AnyJson } from '../../rules/documents/any-json.ts';
import type { Context } from '../context.ts';
import { type PackageDocument, PackageProblem, PackageSource } from '../source/package-source.ts';
import { readPackage } from '../source/read-package.ts';
import { Coverage } from './coverage.ts';
import { type Failure, failuresOf } from './expectations.ts';
import { EngineTime, NotSimulated, type Outcome, TimeOver } from './outcome.ts';
import {
  add,
  type CheckedPackage,
  type CheckedProcess,
  checkPackage,
  describeIssues,
} from './package-checks.ts';
import { ProcessReach } from './process-coverage.ts';
import type { SimulatedProcess } from './process-simulation.ts';
import { ProcessTest } from './process-tests.ts';
import { coverageOfRule, RuleCoverage, RuleTest, type SimulatedRule, simulateRule } from './rule-tests.ts';
import {
  coverageOfTaskType,
  type SimulatedTaskType,
  TaskTypeCoverage,
  TaskTypeTest,
} from './task-type-tests.ts';
import { TestSpec, type TestStep, testSubjects } from './test-document.ts';

/** Tests of a package before it is applied: nothing is written (docs/reference/packages.md#tests). */

const testsMax = 500;
/** The limit for rules and task types together. */
const otherTestsMax = 100;
const problemsMax = 500;
/** The timeout of a whole call, starting when it gets its slot: tests that have not started by then end as errors. */
const callMsMax = 10_000;
const turnMsMax = 5;
/** A Monday, so that calculations with working time give the same result in every run. */
const defaultNow = '2026-01-05T09:00:00.000Z';

export const PackageTestRequest = z
  .strictObject({
    package: PackageSource,
    tests: z
      .array(PackageSource.shape.files.element)
      .max(testsMax)
      .optional()
      .meta({ description: 'Files of documents of kind Test that are not part of the package.' }),
    workspaceId: Uuid.nullish(),
  })
  .meta({ id: 'PackageTestRequest' });
export type PackageTestRequest = z.output<typeof PackageTestRequest>;

const TestResult = z
  .strictObject({
    file: z.string(),
    name: z.string(),
    subject: z.enum(testSubjects),
    object: z.string(),
    process: z.string().optional().meta({ description: 'For a test of a process, its key.' }),
    status: z.enum(['passed', 'failed', 'error']).meta({
      description:
        '`error`: it could not be run, because it uses a feature that is not simulated or takes too long.',
    }),
    durationMs: z.int(),
    failures: z.array(
      z.strictObject({
        step: z.int().meta({ description: 'The number of the step, from 1; 0 for the test as a whole.' }),
        message: z.string(),
        expected: AnyJson,
        actual: AnyJson,
      }),
    ),
  })
  .meta({ id: 'PackageTest' });
type TestResult = z.infer<typeof TestResult>;

const ProcessCoverage = z
  .strictObject({
    key: z.string(),
    elements: Coverage,
    transitions: Coverage,
    decisionRows: Coverage,
    handlers: Coverage,
  })
  .meta({ id: 'PackageProcessCoverage' });

export const PackageTestReport = z
  .strictObject({
    status: z.enum(['passed', 'failed', 'invalid']),
    checkOnly: z.boolean(),
    problems: z.array(PackageProblem).max(problemsMax),
    tests: z.array(TestResult).max(testsMax),
    coverage: z.array(ProcessCoverage),
    ruleCoverage: z.array(RuleCoverage),
    taskTypeCoverage: z.array(TaskTypeCoverage),
    durationMs: z.int(),
  })
  .meta({ id: 'PackageTestReport' });
export type PackageTestReport = z.infer<typeof PackageTestReport>;

/** A call takes up to 10 s, half of it on a processor that all tenants share. */
const ofTenant = new ConcurrencyLimit('package tests of the tenant', {
  runningMax: 1,
  queuedMax: 4,
  waitMsMax: 10_000,
});
const ofProcess = new ConcurrencyLimit('package tests', { runningMax: 2, queuedMax: 20, waitMsMax: 10_000 });

/**
 * Runs `testPackage` when the tenant and the process have a free slot.
 * @throws Refusal 503 `unavailable` if too many requests wait, and `not_found` for the workspace
 */
export async function testPackageInTurn(
  context: Context,
  request: PackageTestRequest,
  checkOnly: boolean,
): Promise<PackageTestReport> {
  if (request.workspaceId != null) await getWorkspaceRow(context, request.workspaceId);
  return ofTenant.run(context.tenantId, () =>
    ofProcess.run('', () => testPackage(context, request, checkOnly)),
  );
}

interface Test {
  readonly document: PackageDocument;
  readonly spec: TestSpec;
}

/** Parses, validates and tests a package, by reads alone. */
async function testPackage(
  context: Context,
  { package: source, tests: others = [] }: PackageTestRequest,
  checkOnly: boolean,
): Promise<PackageTestReport> {
  const beganMs = performance.now();
  const untilMs = beganMs + callMsMax;
  const { documents, problems } = await readPackage([...source.files, ...others]);
  const checked = await checkPackage(context, documents, problems, untilMs);
  const tests = await inSlices(checkingTests(checked, documents, new Set(others.map(({ path }) => path))));
  await inSlices(checkingSettings(checked, documents, tests));
  const isInvalid = checked.problems.some(({ severity }) => severity === 'error');
  const run = isInvalid || checkOnly ? noTests : await runTests(context, checked, tests, untilMs);
  const hasFailed = run.tests.some(({ status }) => status !== 'passed');
  return {
    status: isInvalid ? 'invalid' : hasFailed ? 'failed' : 'passed',
    checkOnly,
    problems: checked.problems,
    ...run,
    durationMs: Math.round(performance.now() - beganMs),
  };
}

type Run = Pick<PackageTestReport, 'tests' | 'coverage' | 'ruleCoverage' | 'taskTypeCoverage'>;
const noTests: Run = { tests: [], coverage: [], ruleCoverage: [], taskTypeCoverage: [] };

/** The valid tests that refer to an object of the package. */
function* checkingTests(
  checked: CheckedPackage,
  documents: readonly PackageDocument[],
  outside: ReadonlySet<string>,
): Generator<void, Test[]> {
  const tests: Test[] = [];
  for (const document of documents) {
    if (document.kind !== 'Test') {
      if (outside.has(document.file)) add(checked, document, [wrong('', 'is not a test')]);
      continue;
    }
    const parsed = TestSpec.safeParse(document.spec);
    if (parsed.success) tests.push({ document, spec: parsed.data });
    else add(checked, document, describeIssues(parsed.error));
    yield;
  }
  const kindOf = { process: 'Process', rule: 'WorkRule', taskType: 'TaskType' } as const;
  const there = new Set(documents.map(({ kind, key }) => `${kind}/${key}`));
  for (const { document, spec } of tests) {
    const name = `${kindOf[spec.subject]}/${spec.object}`;
    if (!there.has(name))
      add(checked, document, [wrong('/object', `${name} is not a document of the package`)]);
  }
  const countOf = (isCounted: (test: Test) => boolean) => tests.filter(isCounted).length;
  const bounds = [
    { name: 'tests', max: testsMax, count: tests.length },
    {
      name: 'tests of rules and task types',
      max: otherTestsMax,
      count: countOf(({ spec }) => spec.subject !== 'process'),
    },
  ];
  for (const { name, max, count } of bounds)
    if (count > max && checked.problems.length < problemsMax)
      checked.problems.push({
        code: 'invalid_document',
        severity: 'error',
        path: '',
        message: `has ${count} ${name}; at most ${max} run in one call`,
      });
  return tests;
}

const wrong = (path: string, message: string) =>
  ({ code: 'invalid_document', severity: 'error', path, message }) as const;

/** Validates the settings of tests against the settings that the package declares. */
function* checkingSettings(
  checked: CheckedPackage,
  documents: readonly PackageDocument[],
  tests: readonly Test[],
): Generator<void, void> {
  const declared = documents.find(({ kind }) => kind === 'Settings');
  const schema = declared && schemaOf(checked, declared);
  for (const { document, spec } of tests) {
    if (spec.settings === undefined) continue;
    if (declared === undefined) add(checked, document, [wrong('/settings', 'the package declares none')]);
    const faults = schema?.faultsOf(spec.settings) ?? [];
    add(
      checked,
      document,
      faults.map(({ path, message }) => wrong(`/settings${path}`, message)),
    );
    yield;
  }
}

function schemaOf(checked: CheckedPackage, declared: PackageDocument) {
  const schema = declared.spec['schema'];
  try {
    if (typeof schema === 'object' && schema !== null) return prepareSchema(schema);
    add(checked, declared, [wrong('/schema', 'must be a JSON Schema')]);
  } catch (error) {
    add(checked, declared, [
      wrong('/schema', error instanceof Error ? error.message : 'is not a JSON Schema'),
    ]);
  }
  return undefined;
}

interface Runnable {
  step(step: TestStep): Generator<void, Outcome>;
}

async function runTests(
  context: Context,
  checked: CheckedPackage,
  tests: readonly Test[],
  untilMs: number,
): Promise<Run> {
  const calendars = await calendarsOf(context, checked);
  const faultOfFields: SimulatedProcess['faultOfFields'] = (typeKey, fields) =>
    (checked.taskTypes.get(typeKey)?.fieldSchema.faultsOf(fields).length ?? 0) > 0;
  const costLimit = context.settings.CP_CEL_COST_LIMIT;
  const reaches = new Map(
    [...checked.processes].map(([key, { spec }]) => [key, new ProcessReach(key, spec)]),
  );
  const rules = new Map([...checked.rules].map(([key, documents]) => [key, simulateRule(key, documents)]));
  const prepared = new Map<string, SimulatedProcess>();
  const processOf = (key: string): SimulatedProcess => {
    const known = prepared.get(key);
    if (known !== undefined) return known;
    const { spec } = checked.processes.get(key) as CheckedProcess;
    const reach = reaches.get(key) as ProcessReach;
    const made = { use: preparedOf(key, spec), calendars, costLimit, reach, faultOfFields };
    prepared.set(key, made);
    return made;
  };
  const runnable = ({ subject, object, now = defaultNow }: TestSpec, time: EngineTime): Runnable => {
    if (subject === 'process') return new ProcessTest(processOf(object), now, time);
    if (subject === 'rule') return new RuleTest(rules.get(object) as SimulatedRule, now, time);
    return new TaskTypeTest(checked.taskTypes.get(object) as SimulatedTaskType, now, time);
  };
  const results: TestResult[] = [];
  for (const test of tests) {
    const time = new EngineTime(untilMs);
    const failures = await inHalfOfTheTime(running(test, () => runnable(test.spec, time)));
    results.push(resultOf(test, failures, time));
  }
  return {
    tests: results,
    coverage: [...reaches.values()].map((reach) => reach.coverage()),
    ruleCoverage: [...rules.values()].map(coverageOfRule),
    taskTypeCoverage: [...checked.taskTypes.values()].map(coverageOfTaskType),
  };
}

/** Runs the steps, and after each turn of 5 ms or more yields to the event loop for as long as the turn took. */
async function inHalfOfTheTime<T>(steps: Iterator<void, T>): Promise<T> {
  for (let since = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    const heldMs = performance.now() - since;
    if (heldMs < turnMsMax) continue;
    await pause(heldMs);
    since = performance.now();
  }
}

/** The reason why a test could not be run, and the step. */
interface Obstacle {
  readonly step: number;
  readonly obstacle: string;
}

/** A test ends at the first step that differs from its expectations. */
function* running(
  { spec: { steps } }: Test,
  begin: () => Runnable,
): Generator<void, readonly Failure[] | Obstacle> {
  let at = 0;
  try {
    const test = begin();
    yield;
    for (const [n, step] of steps.entries()) {
      at = n + 1;
      const failures = failuresOf(at, step.expect, yield* test.step(step));
      if (failures.length > 0) return failures;
    }
    return [];
  } catch (error) {
    if (error instanceof NotSimulated) return { step: at, obstacle: `not simulated: ${error.message}` };
    if (error instanceof TimeOver) return { step: at, obstacle: error.message };
    throw error;
  }
}

function resultOf(
  { document, spec: { subject, object } }: Test,
  found: readonly Failure[] | Obstacle,
  { spentMs }: EngineTime,
): TestResult {
  const isObstacle = 'obstacle' in found;
  const failures = isObstacle
    ? [{ step: found.step, message: found.obstacle.slice(0, 500), expected: null, actual: null }]
    : [...found];
  return {
    file: document.file,
    name: document.key,
    subject,
    object,
    ...(subject === 'process' && { process: object }),
    status: isObstacle ? 'error' : failures.length > 0 ? 'failed' : 'passed',
    durationMs: Math.round(spentMs),
    failures,
  };
}

/** Calendars of the package, and those of the tenant that its processes use. */
async function calendarsOf(
  context: Context,
  { processes, calendars: own }: CheckedPackage,
): Promise<Map<string, WorkingCalendar>> {
  const calendars = new Map(own);
  const named = new Set([...processes.values()].flatMap((process) => process.calendars));
  const ofTenant = await workingCalendarsOf(
    context,
    [...named].filter((key) => !calendars.has(key)),
  );
  return new Map([...calendars, ...ofTenant]);
}
