import assert from 'node:assert/strict';
import type { Json, JsonObject } from '@baton/values/wire';
import { ProcessSpec } from '../../language/definition.ts';
import { environmentsOf } from '../../language/environments.ts';
import { compileExpression, evaluate } from '../../language/expressions/expressions.ts';
import { prepareDefinition } from '../definition-lists.ts';
import { newState, takeInput } from '../engine.ts';
import type { Act, Effect, ElementMap, Input, ProcessEvent } from '../inputs.ts';
import { type EngineTools, ProcessFault, type Roots } from '../machine.ts';
import { takeMigration } from '../migration/migrate-instance.ts';
import { planMigration } from '../migration/migration-plan.ts';
import type { EventRoot, ProcessState } from '../state.ts';

/** The dependencies of the engine for one definition, without calendars. */
function toolsOf(spec: ProcessSpec): EngineTools {
  const { handler, tables } = environmentsOf(spec);
  const evaluateText = (text: string, roots: Roots, table?: string): Json => {
    const environment = (table === undefined ? undefined : tables.get(table)) ?? handler;
    const said = evaluate(compileExpression(text, environment), roots, {
      costLimit: 10_000,
      calendarOf: () => undefined,
    });
    if ('fault' in said) throw new ProcessFault(said.fault.code, String(said.fault.reason));
    return said.value;
  };
  return {
    evaluate: evaluateText,
    render: (template, roots) =>
      template.replaceAll(/\{\{(.*?)\}\}/g, (_, text) => String(evaluateText(text.trim(), roots))),
    shared: () => toolsOf(spec),
    calendar: () => undefined,
    faultOfData: (data) => (data['broken'] === true ? 'broken must not be true' : undefined),
  };
}

/** A declared field that is absent reads as null, whereas reading an absent key of an open map would be a fault. */
const fields = Object.fromEntries([...'abcmnxyz', 'stop', 'go', 'at', 'half'].map((name) => [name, {}]));
export const start = '2026-03-02T08:00:00.000Z';
export const later = (seconds: number) => new Date(Date.parse(start) + seconds * 1000).toISOString();

function versionOf(spec: object) {
  const parsed = ProcessSpec.parse({
    version: 1,
    displayName: 'Test',
    identity: { agent: 'a' },
    data: { type: 'object', properties: fields },
    start: { on: { event: 'task.created' }, key: 'event.id' },
    ...spec,
  });
  return { definition: prepareDefinition('test', parsed), tools: toolsOf(parsed) };
}

/** A document as returned by PostgreSQL: members ordered by the length of their names, then by name. */
function asStored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asStored);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => one.length - other.length || (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, asStored(member)]));
}

/** An instance of a process whose shell only records the intents. */
export class Instance {
  definition;
  tools: EngineTools;
  state: ProcessState;
  acts: Act[] = [];
  constructor(spec: object, data: JsonObject = {}) {
    ({ definition: this.definition, tools: this.tools } = versionOf(spec));
    const id = '0190b2c4-0000-7000-8000-000000000001';
    this.state = newState(this.definition, { id, key: 'k', startedAt: start, data });
    this.take({ kind: 'start', event: null, at: start });
  }
  take(input: Input): this {
    const before = structuredClone(this.state);
    const taken = takeInput(this.definition, this.state, input, this.tools);
    assert.deepEqual(this.state, before, 'the state before was changed');
    assert.deepEqual(JSON.parse(JSON.stringify(taken.state)), taken.state, 'a state is a JSON document');
    this.state = asStored(taken.state) as ProcessState;
    this.acts.push(...taken.acts);
    return this;
  }
  /** Continues the instance with another version of its definition. */
  migrate(spec: object, map: ElementMap = {}, at = this.state.clock): this {
    const { definition, tools } = versionOf(spec);
    const plan = planMigration(this.definition, definition, map);
    const versions = { fromVersion: this.definition.version, toVersion: definition.version };
    this.definition = definition;
    this.tools = { ...tools, migrate: (m, input) => takeMigration(m, plan, input) };
    return this.take({ kind: 'migrate', at, ...versions });
  }
  /** The same instance before its first input. */
  again(first: Parameters<typeof newState>[1], more: Partial<ProcessState>): this {
    this.state = { ...newState(this.definition, first), ...more };
    this.acts = [];
    return this;
  }
  effects(kind?: string): Effect[] {
    const all = this.acts.flatMap((act) => (act.do === 'effect' ? [act.effect] : []));
    return kind === undefined ? all : all.filter((effect) => effect.kind === kind);
  }
  told(type?: string): ProcessEvent[] {
    const all = this.acts.flatMap((act) =>
      act.do === 'tell' ? [act.event] : act.do === 'effect' && act.opened ? [act.opened] : [],
    );
    return type === undefined ? all : all.filter((event) => event.type === type);
  }
  get open(): string[] {
    return Object.values(this.state.nodes)
      .flatMap((node) => (node.kind === 'element' ? [node.id] : []))
      .sort();
  }
  event(type: string, entityId: string, more: object = {}, at = start): Input {
    const event: EventRoot = {
      id: crypto.randomUUID(),
      type,
      time: at,
      entityType: 'x',
      entityId,
      actorId: null,
      correlationId: null,
      payload: {},
    };
    return { kind: 'event', at, event, ...more };
  }
  completeTask(
    element: string,
    customFields: JsonObject = {},
    category = 'terminal_success',
    output?: Json,
  ): this {
    const node = this.state.nodes[element];
    assert.ok(node?.kind === 'element' && node.taskId);
    const task = {
      id: node.taskId,
      publicId: 'T-1',
      typeKey: 'task',
      typeVersion: 1,
      workspaceId: null,
      title: 't',
      status: 'done',
      systemStatusCategory: category,
      priority: 'medium',
      assigneeId: 'worker',
      customFields,
    };
    const ran = output === undefined ? {} : { output };
    return this.take(this.event('task.completed', node.taskId, { task, ...ran }));
  }
  /** Fires an element's next timer. */
  fire(element: string, purpose: string): this {
    const [timer] = Object.values(this.state.timers)
      .filter((one) => one.element === element && one.purpose === purpose && one.state === 'pending')
      .sort((one, other) => Date.parse(one.dueAt ?? '') - Date.parse(other.dueAt ?? ''));
    assert.ok(timer?.dueAt, `${element} has no ${purpose}`);
    return this.take({ kind: 'timer', at: timer.dueAt, timerId: timer.id });
  }
  vote(element: string, outcomes: string): this {
    for (const [n, letter] of [...outcomes].entries()) {
      const node = this.state.nodes[element];
      if (node?.kind !== 'element') return this;
      const type = { a: 'approval.approved', r: 'approval.rejected', c: 'approval.cancelled' }[letter];
      if (type !== undefined) this.take(this.event(type, node.ballots?.[n]?.approvalId as string));
    }
    return this;
  }
}

export const stage = (steps: object[], more: object = {}) => ({ stages: [{ id: 'main', steps, ...more }] });
export const note = (id: string, value = `'${id}'`) => ({ id, set: { [id.replaceAll('-', '_')]: value } });
export const human = (id: string, more: object = {}) => ({
  id,
  human: { taskType: 'task', title: 'Do', ...more },
});
