import type { JsonObject } from '@baton/values/wire';
import type { ModelTimer } from './interpreter-parts.ts';
import { apply, type Given, type Spec, type StepSpec } from './random-definitions.ts';
import { StepInterpreter } from './step-interpreter.ts';
import { Completed, Raised } from './thrown.ts';
import { workingStages } from './working-stages.ts';

interface StageIs {
  state: 'available' | 'active' | 'completed' | 'terminated';
  attempt: number;
  entryHeld: boolean;
  /** Discretionary steps that have begun. */
  begun: Set<string>;
}

/**
 * A small reference interpreter of processes, written from the specification (organisation 15.2 and 15.4), without code
 * in common with the engine: each list of steps is a coroutine in memory, an error is an exception, and an early exit
 * is `finally`.
 */

export class Interpreter extends StepInterpreter {
  readonly stages = new Map<string, StageIs>();
  readonly milestones = new Map<string, boolean>();
  isEnding = false;
  protected readonly handlers: readonly {
    readonly name: string;
    readonly on: { readonly event: string };
    readonly set?: { readonly [field: string]: string };
    readonly steps?: readonly StepSpec[];
  }[];
  protected queued: string[] = [];
  protected isInterrupted = false;
  /** The list of a compensation that failed, from the faulty step on. */
  protected stalled: { name: string; steps: readonly StepSpec[]; stage: string | null } | null = null;

  constructor(spec: Spec, data: JsonObject, nowMs: number) {
    super(spec, data, nowMs);
    this.handlers = [
      ...(spec.correlate ?? []).map((one, n) => ({
        ...one,
        name: `correlate/${n}`,
        ...(one.do && { steps: one.do }),
      })),
      ...(spec.onEvent ?? []).map((one, n) => ({ ...one, name: `event/${n}`, steps: one.do })),
    ];
    for (const { id } of spec.stages)
      this.stages.set(id, { state: 'available', attempt: 0, entryHeld: false, begun: new Set() });
    if (spec.due !== undefined) this.beginDue('', spec.due);
    for (const timer of spec.timers ?? []) this.beginTimer(timer);
    this.settle();
  }

  // The inputs of the interpreter. All consequences of an input occur at once.

  protected take(atMs: number, act: () => void): void {
    this.nowMs = Math.max(this.nowMs, atMs);
    this.effects = [];
    act();
    this.settle();
  }

  answer(atMs: number, element: string, result: Given, ...workers: readonly string[]): void {
    this.take(atMs, () => {
      for (const worker of workers) this.workers.add(worker);
      this.answered(element);
      this.send(element, { is: 'done', result });
    });
  }

  fail(atMs: number, element: string, type: string): void {
    this.take(atMs, () => {
      this.answered(element);
      this.throwIn(element, new Raised(type));
    });
  }

  voters(atMs: number, element: string, principals: readonly string[]): void {
    this.take(atMs, () => this.send(element, { is: 'voters', principals }));
  }

  vote(atMs: number, element: string, principal: string, vote: 'approved' | 'rejected' | 'left'): void {
    this.take(atMs, () => this.send(element, { is: 'vote', principal, vote }));
  }

  disabled(atMs: number, principal: string): void {
    this.take(atMs, () => {
      for (const { id, waitsFor } of this.open.values())
        if (waitsFor === 'approvals') this.send(id, { is: 'left', principal });
    });
  }

  /** An event that steps and handlers of the definition can wait for. */
  hear(atMs: number, type: string): void {
    this.take(atMs, () => {
      for (const { name, on, set, steps } of this.handlers) {
        if (on.event !== type) continue;
        if (set !== undefined) this.writeAll(set);
        if (steps === undefined) continue;
        if (this.fibers.some((fiber) => fiber.name === name)) this.queued.push(name);
        else this.begin(name, steps, null);
      }
      for (const { id, step, waitsFor } of this.open.values())
        if (waitsFor === 'event' && step.listen?.any.some(({ event }) => event === type))
          this.send(id, { is: 'done', result: { event: type } });
    });
  }

  /**
   * The task or approval that a step opens was refused: the nearest `try` handles it, or the instance waits for an
   * operator.
   */
  refuse(atMs: number, element: string, type: string, voter?: string): void {
    this.take(atMs, () => {
      const open = this.open.get(element);
      if (open === undefined) return;
      open.isRefused = true;
      const ballot = voter === undefined ? undefined : open.ballots.get(voter);
      if (ballot !== undefined) ballot.isAsked = false;
      for (let frame = open.place.tries; frame !== null; frame = frame.outer)
        if (frame.catches(type)) return this.throwIn(element, new Raised(type));
      this.pause();
    });
  }

  fire(atMs: number, { element, purpose, level }: ModelTimer): void {
    this.take(atMs, () => {
      const timer = this.timers.find(
        (one) => one.element === element && one.purpose === purpose && one.level === level,
      );
      if (timer?.dueMs === null || timer === undefined || timer.dueMs > this.nowMs) return;
      this.timers = this.timers.filter((one) => one !== timer);
      if (purpose === 'timer') this.firedDefined(element);
      else this.fired(timer);
    });
  }

  suspend(atMs: number): void {
    this.take(atMs, () => this.pause());
  }

  resume(atMs: number): void {
    this.take(atMs, () => {
      this.tryAgain();
    });
  }

  protected tryAgain(stepsPassed = 0): void {
    this.goOn();
    const { stalled } = this;
    this.stalled = null;
    if (stalled !== null) this.begin(stalled.name, stalled.steps.slice(stepsPassed), stalled.stage);
    this.openAgain();
  }

  /** Skips a step whose opening was refused, or a failed compensation step. */
  skip(atMs: number, element: string): void {
    this.take(atMs, () => {
      if (this.stalled !== null) return this.tryAgain(1);
      this.goOn();
      this.send(element, { is: 'skip' });
      this.openAgain();
    });
  }

  cancel(atMs: number, compensate: boolean): void {
    this.take(atMs, () => {
      if (this.isEnding && compensate) {
        if (this.status === 'suspended') this.tryAgain();
        return;
      }
      this.status = 'running';
      this.stalled = null;
      this.endAll();
      this.isEnding = true;
      if (!compensate) this.undoable = [];
    });
  }

  // What follows.

  protected settle(): void {
    while (this.status === 'running') {
      for (let next = this.ready.shift(); next !== undefined; next = this.ready.shift()) {
        const { fiber } = next;
        this.drive(fiber, () => fiber.run.next(undefined as never));
        if (this.status !== 'running') return;
      }
      if (this.isDataNew) for (const timer of this.timers) if (timer.at !== null) timer.dueMs = timer.at();
      this.isDataNew = false;
      if (this.isEnding) this.undoNext();
      else {
        for (const name of this.queued.splice(0)) {
          const isBusy = this.fibers.some((fiber) => fiber.name === name);
          const steps = this.handlers.find((handler) => handler.name === name)?.steps ?? [];
          if (isBusy) this.queued.push(name);
          else this.begin(name, steps, null);
        }
        while (this.judgeStages());
        if (this.ready.length === 0) this.completeIfDone();
      }
      if (this.ready.length === 0) return;
    }
  }

  protected judgeStages(): boolean {
    let isChanged = false;
    for (const [n, stage] of this.spec.stages.entries()) {
      const is = this.stages.get(stage.id) as StageIs;
      if (is.state === 'active') {
        for (const { id, when } of stage.milestones ?? [])
          this.milestones.set(id, apply(when, this.data) === true);
        if (this.beginsDiscretionary(stage)) {
          isChanged = true;
          continue;
        }
        const isEmpty = !this.fibers.some((fiber) => fiber.stage === stage.id);
        if (!isEmpty && (stage.exit === undefined || apply(stage.exit, this.data) !== true)) continue;
        this.stopAll(stage.id);
        is.state = 'completed';
        this.dropTimersOf(stage.id);
        isChanged = true;
      } else if (!this.isInterrupted && (is.state === 'available' || this.mayRepeat(stage))) {
        const before = this.spec.stages[n - 1];
        const holds =
          stage.entry === undefined
            ? before === undefined || this.stages.get(before.id)?.state === 'completed'
            : apply(stage.entry, this.data) === true;
        const begins = holds && (is.state === 'available' || !is.entryHeld);
        is.entryHeld = holds;
        if (!begins) continue;
        is.state = 'active';
        is.attempt += 1;
        is.begun = new Set();
        for (const timer of stage.timers ?? []) this.beginTimer(timer);
        this.begin(`stage/${stage.id}`, stage.steps, stage.id);
        isChanged = true;
      }
    }
    return isChanged;
  }

  protected beginsDiscretionary({ id, exit, discretionary = [] }: Spec['stages'][number]): boolean {
    if (exit !== undefined && apply(exit, this.data) === true) return false;
    const { begun } = this.stages.get(id) as StageIs;
    const wanted = discretionary.filter(
      (step) => !begun.has(step.id) && apply(step.when ?? 'false', this.data) === true,
    );
    for (const step of wanted) {
      begun.add(step.id);
      const { when: _, ...always } = step;
      this.begin(`discretionary/${step.id}`, [always], id);
    }
    return wanted.length > 0;
  }

  protected mayRepeat({ repeatable, entry }: Spec['stages'][number]): boolean {
    return repeatable === true && entry !== undefined;
  }

  protected completeIfDone(): void {
    const states = [...this.stages.values()].map(({ state }) => state);
    if (this.fibers.length > 0 || states.includes('active')) return;
    const mayBegin =
      !this.isInterrupted &&
      states.includes('available') &&
      (this.handlers.length > 0 || this.timers.some(({ purpose }) => purpose === 'timer'));
    if (!mayBegin) this.finish('completed', null);
  }

  protected undoNext(): void {
    if (this.fibers.length > 0) return;
    const next = this.undoable.pop();
    // The compensations of this element remain in `undoable`.
    this.undoers.clear();
    if (next === undefined) {
      this.status = 'cancelled';
      return;
    }
    this.undoers.set(next.element, []);
    this.begin('undo', next.steps, next.stage);
  }

  protected over(error: unknown, name: string, stage: string | null): void {
    if (error instanceof Completed) return this.finish('completed', error.outcome, error.working);
    if (error instanceof Raised && this.isEnding) {
      this.stalled = { name, steps: error.rest, stage };
      return this.pause();
    }
    if (error instanceof Raised) return this.finish('failed', null, workingStages(this.fibers).add(stage));
    throw error;
  }

  protected finish(status: string, outcome: string | null, working?: ReadonlySet<string | null>): void {
    this.endAll(working);
    this.status = status;
    this.outcome = outcome;
  }

  /**
   * @param working the stages whose last step isn't done yet
   */
  protected endAll(working: ReadonlySet<string | null> = workingStages(this.fibers)): void {
    this.stopAll(null);
    this.queued = [];
    this.timers = [];
    for (const [id, is] of this.stages) {
      if (is.state === 'active' && !working.has(id)) is.state = 'completed';
      if (is.state === 'active' || is.state === 'available') is.state = 'terminated';
    }
  }

  protected begin(name: string, steps: readonly StepSpec[], stage: string | null): void {
    this.spawn(
      name,
      steps,
      { stage, tries: null },
      { ended: () => {}, failed: (error) => this.over(error, name, stage), isBranch: false },
    );
  }

  protected firedDefined(id: string): void {
    for (const { id: stage, timers = [] } of this.spec.stages)
      for (const timer of timers) {
        if (timer.id !== id) continue;
        if (timer.interrupting === true) this.stopAll(stage);
        return this.begin(`timer/${id}`, timer.do, stage);
      }
    const timer = this.spec.timers?.find((one) => one.id === id);
    if (timer?.interrupting === true) {
      this.isInterrupted = true;
      this.stopAll(null);
      for (const [stage, is] of this.stages) {
        if (is.state !== 'completed') is.state = 'terminated';
        this.dropTimersOf(stage);
      }
    }
    this.begin(`timer/${id}`, timer?.do ?? [], null);
  }

  /** The stage of the timer with this id; undefined for timers of the definition and of steps. */
  stageOfTimer(id: string): string | undefined {
    return this.spec.stages.find(({ timers = [] }) => timers.some((timer) => timer.id === id))?.id;
  }

  protected dropTimersOf(stage: string): void {
    const ids = this.spec.stages.find(({ id }) => id === stage)?.timers?.map(({ id }) => id) ?? [];
    this.timers = this.timers.filter(({ element }) => !ids.includes(element));
  }

  protected openAgain(): void {
    for (const open of this.open.values()) {
      if (!open.isRefused) continue;
      open.isRefused = false;
      open.opens?.();
    }
  }
}
