import { inSlices } from '@baton/kernel/limits/slices';
import type { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import { type Definition, prepareDefinition } from '@baton/process-engine/engine/definition-lists';
import type { ElementMap } from '@baton/process-engine/engine/inputs';
import { type EngineTools, ProcessFault, type Roots } from '@baton/process-engine/engine/machine';
import { takeMigration } from '@baton/process-engine/engine/migration/migrate-instance';
import { planMigration } from '@baton/process-engine/engine/migration/migration-plan';
import { migrationFailed } from '@baton/process-engine/engine/state';
import { calendarTextsOf } from '@baton/process-engine/language/calendar-texts';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { environmentsOf, type ProcessEnvironments } from '@baton/process-engine/language/environments';
import {
  compileExpression,
  evaluate,
  type Program,
} from '@baton/process-engine/language/expressions/expressions';
import { partsOfTemplate } from '@baton/process-engine/language/templates';
import { BoundedCache } from '@baton/values/bounded-cache';
import { type PreparedSchema, prepareSchema } from '@baton/values/json-schema/schema';
import { insertValues } from '@baton/values/text-expressions';
import type { Json } from '@baton/values/wire';
import { workingCalendarsOf } from '../../organisation/calendars/compute-with-calendar.ts';
import { nobody } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import type { ProcessDefinitionRow } from '../definitions/definition.ts';
import { getDefinitionRow } from '../definitions/definitions.ts';
import type { InstanceRow } from './instance.ts';
import { type MigrationRow, migrationFrom } from './migration/migrations.ts';

export interface PreparedDefinition {
  readonly definition: Definition;
  readonly schema: PreparedSchema;
  readonly environments: ProcessEnvironments;
  readonly programs: Map<string, Program>;
  /** Every calendar that the definition refers to; computed on first use. */
  calendarKeys: ReadonlySet<string> | undefined;
}

/** Prepared definitions for the engine. Each version is parsed once per server process, since it never changes. */
export interface DefinitionInUse extends PreparedDefinition {
  readonly row: Pick<ProcessDefinitionRow, 'key' | 'version' | 'workspace_id' | 'identity_agent'>;
}

/**
 * The cost limit for all expressions of one input, as a multiple of the limit for one expression: by default 500,000
 * steps, about 20 ms.
 */
const limitsOfInput = 50;
/** The base cost of each evaluation: building its environment. */
const expressionSteps = 10;

/** The total length of the specs, in characters; the parsed form takes ten times as much memory: 40 MB. */
const keptCharactersMax = 4_194_304;
const kept = new BoundedCache<DefinitionInUse>(keptCharactersMax);

/**
 * Readers of an instance may use its definition, regardless of the definition's workspace. @throws Refusal `not_found`
 */
export async function useDefinition(
  context: Context,
  key: string,
  version: number,
): Promise<DefinitionInUse> {
  const name = `${context.tenantId}/${key}@${version}`;
  const known = kept.get(name);
  if (known !== undefined) return known;
  const asCore = { ...context, caller: { ...nobody, tenantId: context.tenantId } };
  const row = await getDefinitionRow(asCore, key, version);
  const { spec } = row;
  const made = { row, ...preparedOf(key, spec) };
  kept.keep(name, made, JSON.stringify(spec).length);
  return made;
}

/** A prepared definition, published or not. */
export function preparedOf(key: string, spec: ProcessSpec): PreparedDefinition {
  return {
    definition: prepareDefinition(key, spec),
    schema: prepareSchema(spec.data, { formats: 'assert' }),
    environments: environmentsOf(spec),
    programs: new Map(),
    calendarKeys: undefined,
  };
}

/** The functions that the engine uses to process an instance's input with this definition. */
export async function toolsFor(context: Context, use: DefinitionInUse): Promise<EngineTools> {
  const calendars = await calendarsOf(context, use);
  return toolsOf(use, calendars, context.settings.CP_CEL_COST_LIMIT);
}

/** The calendars that a definition refers to, including its expressions, in their current state. */
export async function calendarsOf(
  context: Context,
  use: PreparedDefinition,
): Promise<Map<string, WorkingCalendar>> {
  use.calendarKeys ??= await inSlices(namingCalendars(use));
  return workingCalendarsOf(context, [...use.calendarKeys]);
}

/**
 * @param calendars the calendars of the definition, by key
 * @param check called before each expression: an error that it throws ends the processing of the input
 */
export function toolsOf(
  use: PreparedDefinition,
  calendars: ReadonlyMap<string, WorkingCalendar>,
  costMax: number,
  check: () => void = () => {},
): EngineTools {
  const calendar = (key: string) => calendars.get(key);
  const calendarOf = (key: string | null) => calendar(key ?? use.definition.spec.calendar ?? '');
  const evaluateText = (text: string, roots: Roots, table: string | undefined, budgets: Budgets): Json => {
    check();
    const costLimit = Math.max(0, Math.min(costMax, ...budgets.map(({ left }) => left)));
    const spent = (steps: number) => {
      for (const budget of budgets) budget.left -= steps + expressionSteps;
    };
    const done = evaluate(programOf(use, text, table), roots, { costLimit, calendarOf, spent });
    if (!('fault' in done)) return done.value;
    const { code, reason } = done.fault;
    const isTogether = code === 'expression_cost_exceeded' && costLimit < costMax;
    throw new ProcessFault(code, isTogether ? 'all expressions together' : (reason ?? code));
  };
  const evaluating = (budgets: Budgets): Pick<EngineTools, 'evaluate' | 'render'> => ({
    evaluate: (text, roots, table) => evaluateText(text, roots, table, budgets),
    render(template, roots) {
      const within = [...budgets, { left: costMax }];
      const parts = partsOfTemplate(template);
      if (parts === undefined) return template;
      return insertValues(parts, (text) => evaluateText(text, roots, undefined, within));
    },
  });
  const toolsWithin = (budgets: Budgets): EngineTools => ({
    ...evaluating(budgets),
    shared: () => evaluating([...budgets, { left: costMax }]),
    forInput: () => toolsWithin([{ left: costMax * limitsOfInput }]),
    calendar,
    beforeStep: check,
    faultOfData(data) {
      const [fault] = use.schema.faultsOf(data);
      return fault === undefined ? undefined : `${fault.path}: ${fault.message}`;
    },
  });
  return toolsWithin([]);
}

/** The remaining cost of all expressions together; each evaluation reduces it. */
type Budgets = readonly { left: number }[];

function programOf({ environments, programs }: PreparedDefinition, text: string, table?: string): Program {
  const name = `${table ?? ''}\n${text}`;
  const known = programs.get(name);
  if (known !== undefined) return known;
  const environment =
    (table === undefined ? undefined : environments.tables.get(table)) ?? environments.handler;
  const made = compileExpression(text, environment);
  programs.set(name, made);
  return made;
}

/** Parses each expression that may refer to a calendar, and yields in between so that other work can run. */
function* namingCalendars(use: PreparedDefinition): Generator<void, ReadonlySet<string>> {
  const { spec, steps } = use.definition;
  const keys = [spec.calendar, spec.due?.calendar, spec.retrospective?.due?.calendar];
  for (const { human, approve, call } of steps.values()) keys.push((human ?? approve ?? call)?.due?.calendar);
  for (const { text, table } of calendarTextsOf(spec)) {
    for (const key of programOf(use, text, table).calendars) keys.push(key ?? undefined);
    yield;
  }
  return new Set(keys.filter((key) => key !== undefined));
}

/** A version as its instances use it. */
type Version = { readonly definition: Definition; readonly tools: EngineTools };

/** Everything that instances of one version need to migrate to another. */
export interface Target {
  readonly migration: MigrationRow;
  /** The agent that the instances act as after the migration. */
  readonly agentKey: string;
  readonly before: Version;
  readonly after: Version;
}

/** Prepares the two versions of a migration once for all its instances. */
export async function prepareTarget(context: Context, migration: MigrationRow): Promise<Target> {
  const { definition_key: key, from_version: from, to_version: to, map } = migration;
  const [earlier, later] = [await useDefinition(context, key, from), await useDefinition(context, key, to)];
  const after = { definition: later.definition, tools: await toolsFor(context, later) };
  return {
    migration,
    agentKey: later.row.identity_agent,
    before: { definition: earlier.definition, tools: await toolsFor(context, earlier) },
    after: migrationTarget(earlier.definition, after, map),
  };
}

/** The target version, with the engine function for the input `migrate`. */
export function migrationTarget(from: Definition, { definition, tools }: Version, map: ElementMap): Version {
  const plan = planMigration(from, definition, map);
  return { definition, tools: { ...tools, migrate: (m, input) => takeMigration(m, plan, input) } };
}

/** The version that an instance failed to migrate to; undefined for every other instance. */
export async function missedTargetOf(context: Context, row: InstanceRow): Promise<Target | undefined> {
  if (row.state.parked?.code !== migrationFailed) return undefined;
  const migration = await migrationFrom(context, row.definition_key, row.definition_version);
  return migration && prepareTarget(context, migration);
}
