import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byDepth, isLongProof } from '@baton/testing/depth';
import type { CallEnd, Effect, Input } from './inputs.ts';
import type { ElementNode, ProcessState } from './state.ts';
import { Instance, start } from './testing/engine-instance.ts';
import { Interpreter } from './testing/interpreter.ts';
import type { ModelTimer } from './testing/interpreter-parts.ts';
import { definitions } from './testing/random-definitions.ts';
import { shownModel, shownState } from './testing/shown-states.ts';

// Compares the engine with a reference interpreter, on random definitions and random inputs of all kinds.

/**
 * `npm run model -- processes 2000` runs 2,000 definitions.
 */
const runs = Number(process.env['BATON_TEST_PROCESS_DEFINITIONS'] ?? byDepth(100, 500));
const inputsMax = 40;

/** An effect as text, the same for the model and the engine. */
function shownEffect(effect: Effect, approvals: ReadonlyMap<string, string>): string {
  const { kind, element } = effect;
  if (effect.kind === 'ask_approval') return `${kind} ${element} ${effect.principalId}`;
  if (effect.kind === 'close_approval') return `${kind} ${element} ${approvals.get(effect.approvalId)}`;
  if (effect.kind === 'escalate') return `${kind} ${element} ${effect.level}`;
  return `${kind} ${element}`;
}

/** The definition with other ids for its steps and stages. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): object {
  const named = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(named);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(
      Object.entries(one).map(([field, inner]) => {
        const isName = field === 'id' && typeof inner === 'string';
        if (isName) return [field, names.get(inner) ?? inner];
        if (field !== 'compensate' || !Array.isArray(inner)) return [field, named(inner)];
        return [field, inner.map((id) => names.get(id) ?? id)];
      }),
    );
  };
  return named(value) as object;
}

class Pair {
  readonly engine: Instance;
  readonly model: Interpreter;
  nowMs = Date.parse(start);
  readonly said: string[] = [];
  readonly #spec: object;
  readonly #approvals = new Map<string, string>();
  readonly #opened = new Map<string, number>();
  /** Elements whose voters are being resolved. */
  readonly #searching = new Set<string>();
  readonly #refused = new Map<string, number>();
  /** Stages whose entry has been emitted, but whose exit hasn't. */
  readonly #inside = new Set<string>();

  constructor(spec: object) {
    this.#spec = spec;
    const data = { n: 0 };
    this.engine = new Instance(structuredClone(spec), data);
    this.model = new Interpreter(spec as never, data, this.nowMs);
    this.said.push('start');
    this.#compare();
  }

  #elements(waitsFor: string): ElementNode[] {
    return Object.values(this.engine.state.nodes).filter(
      (node) => node.kind === 'element' && node.waitsFor === waitsFor,
    ) as ElementNode[];
  }

  /** One of the currently possible inputs; the number selects it and its content. */
  take(choice: number): boolean {
    const { status } = this.engine.state;
    if (status !== 'running' && status !== 'suspended') return false;
    const pick = <Value>(of: readonly Value[]): Value => of[choice % of.length] as Value;
    this.nowMs += [0, 1000, 3000, 20_000][choice % 4] as number;
    const at = new Date(this.nowMs).toISOString();
    const acts = this.#acts(at, choice, pick);
    const [name, act] = acts[Math.floor(choice / 64) % acts.length] as (typeof acts)[number];
    this.said.push(`${at.slice(11, 19)} ${name}`);
    this.engine.acts = [];
    act();
    this.#compare();
    if (choice % 5 === 0) this.#goThereAndBack();
    return true;
  }

  /**
   * Migrates to a version that renames all steps and stages, and back: the instance is unchanged, except for its
   * renamed tasks.
   */
  #goThereAndBack(): void {
    const { engine } = this;
    const before = structuredClone(engine.state);
    const isLate = Object.values(before.timers).some(
      ({ purpose, state, dueAt }) =>
        purpose === 'due' && state === 'pending' && dueAt !== null && dueAt <= before.clock,
    );
    // The migration reports a deadline that has passed.
    if (isLate || (before.status !== 'running' && before.status !== 'suspended')) return;
    engine.acts = [];
    const { steps, stages } = engine.definition;
    const names = [...steps.keys(), ...stages.keys()];
    const there = Object.fromEntries(names.map((id) => [id, `${id}-moved`]));
    engine.migrate(withNames(this.#spec, new Map(Object.entries(there))), there);
    engine.migrate(this.#spec, Object.fromEntries(names.map((id) => [`${id}-moved`, id])));
    const said = `after\n  ${this.said.join('\n  ')}`;
    const open = Object.values(before.nodes).flatMap((node) =>
      node.kind === 'element' && node.taskId !== undefined ? [node.id] : [],
    );
    const renamed = engine
      .effects()
      .map((effect) =>
        effect.kind === 'rename_tasks' ? effect.tasks.map(({ step }) => step).toSorted() : [effect.kind],
      );
    const [moved, back] = [open.map((id) => `${id}-moved`).toSorted(), open.toSorted()];
    assert.deepEqual(renamed, open.length === 0 ? [] : [moved, back], said);
    const told = engine.told().filter(({ type }) => !/stage_(entered|exited)$/.test(type));
    assert.deepEqual(new Set(told.map(({ type }) => type)), new Set(['process.migrated']), said);
    this.#followStages();
    const shown = ({ attempts, ...state }: ProcessState) => ({
      ...state,
      attempts: [...steps.keys()].map((id) => attempts[id]),
    });
    assert.deepEqual(shown(engine.state), shown(before), said);
  }

  #acts(at: string, choice: number, pick: <Value>(of: readonly Value[]) => Value): [string, () => void][] {
    const acts: [string, () => void][] = [];
    const both = (name: string, input: Input, model: () => void, weight = 4) => {
      for (let n = 0; n < weight; n += 1) acts.push([name, () => [this.engine.take(input), model()]]);
    };
    const { model, engine, nowMs } = this;
    const { state } = engine;
    const compensate = choice % 3 > 0;
    both(
      `cancel ${compensate}`,
      { kind: 'cancel', at, reason: 'r', compensate },
      () => model.cancel(nowMs, compensate),
      1,
    );
    if (state.status === 'suspended') {
      both('resume', { kind: 'resume', at, reason: null }, () => model.resume(nowMs));
      const element = state.parked?.element;
      if (element != null)
        both(`skip ${element}`, { kind: 'skip', at, element, reason: 'r' }, () => model.skip(nowMs, element));
      return acts;
    }
    both('suspend', { kind: 'suspend', at, reason: 'r', cause: 'operator' }, () => model.suspend(nowMs), 1);
    for (const type of ['ping.one', 'ping.two']) {
      const correlations = engine.definition.handlers.flatMap(({ on }, n) => (on.event === type ? [n] : []));
      both(type, engine.event(type, 'x', { correlations }, at), () => model.hear(nowMs, type), 2);
    }
    for (const node of this.#elements('task')) this.#taskActs(node, at, choice, both);
    for (const node of this.#elements('skill')) {
      const isGood = choice % 3 > 0;
      const call: CallEnd = {
        id: node.callId as string,
        skill: 'tool@1',
        status: isGood ? 'succeeded' : 'failed',
        output: { said: choice % 5 },
        error: isGood ? null : { code: 'bad', message: 'm' },
      };
      both(`call ${node.id} ${isGood}`, engine.event('skill.ended', call.id, { call }, at), () =>
        isGood ? model.answer(nowMs, node.id, call.output) : model.fail(nowMs, node.id, 'bad'),
      );
    }
    for (const node of this.#elements('approvals')) this.#voteActs(node, at, choice, pick, both);
    const timers = Object.values(state.timers).filter(
      ({ state: is, dueAt }) => is === 'pending' && dueAt !== null,
    );
    for (const { id, element, purpose, level, dueAt } of timers) {
      const firesMs = Math.max(nowMs, Date.parse(dueAt as string));
      acts.push([
        `timer ${element} ${purpose} ${level}`,
        () => {
          this.nowMs = firesMs;
          engine.take({ kind: 'timer', at: new Date(firesMs).toISOString(), timerId: id });
          model.fire(firesMs, { element: element === state.id ? '' : element, purpose, level } as ModelTimer);
        },
      ]);
    }
    return acts;
  }

  #taskActs(
    node: ElementNode,
    at: string,
    choice: number,
    both: (name: string, input: Input, model: () => void, weight?: number) => void,
  ) {
    const { model, nowMs } = this;
    const assigneeId = `p${choice % 4}`;
    const customFields = { ok: choice % 2 === 0 };
    const task = (systemStatusCategory: string) => ({
      id: node.taskId as string,
      publicId: 'T-1',
      typeKey: 'task',
      typeVersion: 1,
      workspaceId: null,
      title: 't',
      status: 's',
      systemStatusCategory,
      priority: 'medium',
      assigneeId,
      customFields,
    });
    const event = (category: string) =>
      this.engine.event('task.status_changed', node.taskId as string, { task: task(category) }, at);
    both(
      `complete ${node.id}`,
      event('terminal_success'),
      () => model.answer(nowMs, node.id, customFields, assigneeId),
      8,
    );
    both(
      `drop ${node.id}`,
      event('terminal_cancelled'),
      () => model.fail(nowMs, node.id, 'task_cancelled'),
      2,
    );
    if (node.isAnswered !== true) this.#refusal(node, at, both);
  }

  #refusal(
    { id, attempt }: ElementNode,
    at: string,
    both: (name: string, input: Input, model: () => void, weight?: number) => void,
    ballot?: { approvalId: string; principalId: string },
  ) {
    const { approvalId, principalId } = ballot ?? {};
    const head = { kind: 'intent_failed', at, element: id, ...(approvalId && { approvalId }) } as const;
    both(
      `refuse ${id} ${principalId ?? ''}`,
      { ...head, code: 'no_rights', details: {} },
      () => {
        this.#refused.set(`${id}#${attempt}`, (this.#refused.get(`${id}#${attempt}`) ?? 0) + 1);
        this.model.refuse(this.nowMs, id, 'no_rights', principalId);
      },
      1,
    );
  }

  #voteActs(
    node: ElementNode,
    at: string,
    choice: number,
    pick: <Value>(of: readonly Value[]) => Value,
    both: (name: string, input: Input, model: () => void, weight?: number) => void,
  ) {
    const { model, nowMs, engine } = this;
    const { id: element, ballots } = node;
    if (ballots === undefined || this.#searching.has(element)) {
      const principals = ['p0', 'p1', 'p2', 'p3'].slice(choice % 3, (choice % 3) + (choice % 4));
      both(
        `voters ${element} ${principals}`,
        { kind: 'voters', at, element, principals },
        () => {
          this.#searching.delete(element);
          model.voters(nowMs, element, principals);
        },
        8,
      );
      return this.#refusal(node, at, both);
    }
    const asked = ballots.filter(({ asked: isAsked, vote }) => isAsked && vote === 'pending');
    if (asked.length > 0) {
      const { approvalId, principalId } = pick(asked);
      const votes = { approved: 4, rejected: 3, cancelled: 1 } as const;
      for (const [vote, weight] of Object.entries(votes))
        both(
          `vote ${element} ${principalId} ${vote}`,
          engine.event(`approval.${vote}`, approvalId, {}, at),
          () => model.vote(nowMs, element, principalId, vote === 'cancelled' ? 'left' : (vote as 'approved')),
          weight,
        );
      this.#refusal(node, at, both, asked[0]);
    }
    const { principalId } = pick(ballots);
    both(
      `disable ${principalId}`,
      engine.event('principal.disabled', principalId, {}, at),
      () => model.disabled(nowMs, principalId),
      1,
    );
  }

  /** The events show the instance's current stages, whatever ends them. */
  #followStages(): void {
    for (const { type, payload } of this.engine.told()) {
      const stage = String(payload['stage']);
      if (type === 'process.stage_entered') assert.ok(!this.#inside.has(stage), `${stage} entered twice`);
      if (type === 'process.stage_entered') this.#inside.add(stage);
      if (type === 'process.stage_exited') assert.ok(this.#inside.delete(stage), `${stage} left unentered`);
    }
    const active = Object.entries(this.engine.state.stages).filter(([, { state }]) => state === 'active');
    const said = `after\n  ${this.said.join('\n  ')}`;
    assert.deepEqual([...this.#inside].sort(), active.map(([id]) => id).sort(), said);
  }

  #compare(): void {
    const { state } = this.engine;
    for (const effect of this.engine.effects())
      if (effect.kind === 'ask_approval') this.#approvals.set(effect.approvalId, effect.principalId);
    for (const effect of this.engine.effects()) {
      if (effect.kind === 'find_voters') this.#searching.add(effect.element);
      if (effect.kind !== 'open_task' && effect.kind !== 'open_call' && effect.kind !== 'ask_approval')
        continue;
      const id = 'taskId' in effect ? effect.taskId : 'callId' in effect ? effect.callId : effect.approvalId;
      const before = this.#opened.get(id) ?? 0;
      const node = state.nodes[effect.element ?? ''] as ElementNode | undefined;
      assert.ok(
        before <= (this.#refused.get(`${effect.element}#${node?.attempt}`) ?? 0),
        `${effect.kind} ${effect.element} twice`,
      );
      this.#opened.set(id, before + 1);
    }
    this.#followStages();
    const effects = this.engine.effects().map((effect) => shownEffect(effect, this.#approvals));
    const { model } = this;
    assert.deepEqual(
      { ...shownState(state), effects: effects.sort() },
      { ...shownModel(model), effects: model.effects.toSorted() },
      `after\n  ${this.said.join('\n  ')}`,
    );
  }
}

test('random processes end as the interpreter predicts, and each effect is requested once', {
  timeout: 1_800_000,
}, () => {
  const ends: Record<string, number> = {};
  fc.assert(
    fc.property(definitions, fc.array(fc.nat(1 << 20), { maxLength: inputsMax }), (spec, choices) => {
      const pair = new Pair(spec);
      for (const choice of choices) if (!pair.take(choice)) break;
      const { status } = pair.engine.state;
      ends[status] = (ends[status] ?? 0) + 1;
    }),
    { numRuns: runs },
  );
  console.log(`${runs} definitions: ${JSON.stringify(ends)}`);
  // Every final status occurs in a long run: even the rarest occurs once in several dozen runs.
  if (isLongProof)
    assert.deepEqual(Object.keys(ends).sort(), ['cancelled', 'completed', 'failed', 'running', 'suspended']);
});
