import type { JsonObject } from '@baton/values/wire';
import type {
  Ballot,
  Fiber,
  ListAt,
  Message,
  ModelTimer,
  Open,
  Pause,
  Place,
  Run,
  TryFrame,
  Undo,
} from './interpreter-parts.ts';
import { resultOf } from './needed-votes.ts';
import { apply, type Given, type Spec, type StepSpec, type TimerSpec } from './random-definitions.ts';
import { Completed, Raised } from './thrown.ts';
import { workingStages } from './working-stages.ts';

/** The steps of the interpreter: lists as coroutines, and their timers. */
export class StepInterpreter {
  protected readonly spec: Spec;
  nowMs: number;
  status = 'running';
  outcome: string | null = null;
  data: JsonObject;
  readonly open = new Map<string, Open>();
  timers: ModelTimer[] = [];
  readonly attempts = new Map<string, number>();
  /** The effects of the last input. */
  effects: string[] = [];
  /** The effects of all inputs, each with the element that requests it and that element's attempt: `open_task e1#2`. */
  readonly history: string[] = [];
  slaState: string;
  protected readonly workers = new Set<string>();
  protected fibers: Fiber[] = [];
  protected ready: { fiber: Fiber; list: number }[] = [];
  protected lists = 0;
  protected undoable: Undo[] = [];
  /** The elements still to be compensated by each compensation, by the compensated element. */
  protected readonly undoers = new Map<string, Undo[]>();
  protected isDataNew = false;

  constructor(spec: Spec, data: JsonObject, nowMs: number) {
    this.spec = spec;
    this.data = data;
    this.nowMs = nowMs;
    this.slaState = spec.due === undefined ? 'none' : 'ok';
  }

  // Coroutines.

  protected spawn(
    name: string,
    steps: readonly StepSpec[],
    place: Omit<Place, 'fiber'>,
    to: Pick<Fiber, 'ended' | 'failed' | 'isBranch'>,
  ): Fiber {
    const run = this.list(steps, { ...place, fiber: () => fiber });
    const fiber: Fiber = { name, stage: place.stage, run, lists: [], isOver: false, ...to };
    this.fibers.push(fiber);
    this.drive(fiber, () => run.next());
    return fiber;
  }

  protected drive(fiber: Fiber, go: () => IteratorResult<Pause, void>): void {
    if (fiber.isOver) return;
    let paused: IteratorResult<Pause, void>;
    try {
      paused = go();
    } catch (error) {
      this.forget(fiber);
      return fiber.failed(error);
    }
    if (paused.done === true) {
      this.forget(fiber);
      return fiber.ended();
    }
    if (paused.value !== 'wait') this.ready.push({ fiber, list: paused.value });
  }

  protected forget(fiber: Fiber): void {
    fiber.isOver = true;
    this.fibers = this.fibers.filter((one) => one !== fiber);
    this.ready = this.ready.filter((one) => one.fiber !== fiber);
  }

  protected stop(fiber: Fiber): void {
    if (fiber.isOver) return;
    this.forget(fiber);
    fiber.run.return();
  }

  protected send(element: string, message: Message): void {
    const fiber = this.open.get(element)?.place.fiber();
    if (fiber !== undefined) this.drive(fiber, () => fiber.run.next(message));
  }

  protected throwIn(element: string, error: Error): void {
    const fiber = this.open.get(element)?.place.fiber();
    if (fiber !== undefined) this.drive(fiber, () => fiber.run.throw(error));
  }

  protected answered(element: string): void {
    const open = this.open.get(element);
    if (open !== undefined) open.isAnswered = true;
  }

  // Steps.

  protected *list(steps: readonly StepSpec[], place: Place): Run<void> {
    this.lists += 1;
    const list = this.lists;
    const { lists } = place.fiber();
    const at: ListAt = { left: steps.length, open: null };
    lists.push(at);
    try {
      for (const [n, step] of steps.entries()) {
        yield list;
        at.left = steps.length - n - 1;
        try {
          if (step.when === undefined || apply(step.when, this.data) === true) yield* this.step(step, place);
        } catch (error) {
          // Overwritten by each list that the error leaves: the last one determines where the execution would continue.
          if (error instanceof Raised) error.rest = steps.slice(n);
          throw error;
        }
      }
      yield list;
    } finally {
      lists.pop();
    }
  }

  protected *step(step: StepSpec, place: Place): Run<void> {
    const { id } = step;
    const attempt = (this.attempts.get(id) ?? 0) + 1;
    this.attempts.set(id, attempt);
    const open: Open = {
      id,
      step,
      place,
      attempt,
      waitsFor: null,
      slaState: 'none',
      isAnswered: false,
      isRefused: false,
      ballots: new Map(),
      opens: null,
      closes: null,
      branches: [],
      undoing: [],
    };
    this.open.set(id, open);
    const at = place.fiber().lists.at(-1) as ListAt;
    at.open = open;
    let completes: string | undefined;
    try {
      const end = yield* this.body(open);
      if (end.is === 'skip') return;
      const { result, status = 'completed' } = end;
      if (status !== 'timed_out' && step.export !== undefined) {
        const { as } = step.export;
        if (typeof as === 'string') this.write({ [as]: result });
        else
          this.write(
            Object.fromEntries(
              Object.entries(as).map(([field, text]) => [field, apply(text, this.data, status)]),
            ),
          );
      }
      if (step.onCompensate !== undefined)
        this.undoable.push({ element: id, steps: step.onCompensate, stage: place.stage });
      completes = step.complete?.outcome;
    } finally {
      if ((!open.isRefused || open.ballots.size > 0) && !open.isAnswered) open.closes?.();
      this.timers = this.timers.filter((timer) => timer.element !== id);
      this.open.delete(id);
      at.open = null;
    }
    if (completes !== undefined) throw new Completed(completes, workingStages(this.fibers));
  }

  protected *body(open: Open): Run<Extract<Message, { is: 'done' | 'skip' }>> {
    const { id, step } = open;
    const done = (result: Given = null, status = 'completed') => ({ is: 'done', result, status }) as const;
    if (step.set !== undefined) {
      this.writeAll(step.set);
      return done();
    }
    if (step.raise !== undefined) throw new Raised(step.raise.type);
    if (step.suspend !== undefined) {
      this.pause();
      return done();
    }
    if (step.decide !== undefined) return done(this.decide(step.decide.table));
    if (step.complete !== undefined) return done();
    if (step.wait !== undefined) {
      open.waitsFor = 'timer';
      this.startTimer(id, 'wait', 0, step.wait);
      return (yield* this.waited()) as Extract<Message, { is: 'done' | 'skip' }>;
    }
    if (step.approve !== undefined) return yield* this.approve(open);
    if (step.human !== undefined || step.call !== undefined) {
      const what = step.human === undefined ? 'call' : 'task';
      open.waitsFor = what === 'call' ? 'skill' : 'task';
      this.duties(open);
      if (step.call?.timeout !== undefined) this.startTimer(id, 'timeout', 0, step.call.timeout);
      this.opens(open, `open_${what}`);
      open.closes = () => this.does(`close_${what}`, open);
      const said = yield* this.waited();
      if (said.is === 'timeout') throw new Raised('timeout');
      return said as Extract<Message, { is: 'done' | 'skip' }>;
    }
    if (step.listen !== undefined) {
      open.waitsFor = 'event';
      if (step.listen.timeout !== undefined) this.startTimer(id, 'timeout', 0, step.listen.timeout);
      const said = yield* this.waited();
      if (said.is !== 'timeout') return said as Extract<Message, { is: 'done' | 'skip' }>;
      if (step.listen.onTimeout === undefined) throw new Raised('timeout');
      open.waitsFor = 'steps';
      yield* this.list(step.listen.onTimeout, open.place);
      return done(null, 'timed_out');
    }
    open.waitsFor = 'steps';
    if (step.do !== undefined) yield* this.list(step.do, open.place);
    if (step.try !== undefined) yield* this.try(open);
    if (step.fork !== undefined) return done(yield* this.fork(open));
    if (step.compensate !== undefined) return done(yield* this.compensate(open, step.compensate));
    return done();
  }

  protected *waited(): Run<Message> {
    return yield 'wait';
  }

  protected opens(open: Open, effect: string): void {
    open.opens = () => this.does(effect, open);
    open.opens();
  }

  protected does(effect: string, { id, attempt }: Open, ...more: readonly (string | number)[]): void {
    this.effects.push([effect, id, ...more].join(' '));
    this.history.push([effect, `${id}#${attempt}`, ...more].join(' '));
  }

  protected *try(open: Open): Run<void> {
    const { do: steps, retry, catch: catches = [] } = open.step.try as NonNullable<StepSpec['try']>;
    let left = retry?.limit ?? 0;
    const fits = (on: readonly string[] | undefined, type: string) => on?.includes(type) ?? true;
    const retries = (type: string) => retry !== undefined && left > 0 && fits(retry.on, type);
    const frame: TryFrame = {
      outer: open.place.tries,
      catches: (type) => retries(type) || catches.some(({ on }) => fits(on, type)),
    };
    let pauseMs = retry === undefined ? 0 : msOf(retry.delay);
    for (;;)
      try {
        return yield* this.list(steps, { ...open.place, tries: frame });
      } catch (error) {
        if (!(error instanceof Raised)) throw error;
        if (!retries(error.type)) {
          const caught = catches.find(({ on }) => fits(on, error.type));
          if (caught === undefined) throw error;
          return yield* this.list(caught.do, open.place);
        }
        left -= 1;
        if (pauseMs > 0) {
          this.startTimerMs(open.id, 'retry', (retry?.limit ?? 0) - left, pauseMs);
          yield 'wait';
        }
        if (retry?.backoff === 'exponential') pauseMs *= 2;
      }
  }

  protected *fork(open: Open): Run<Given> {
    const { mode = 'all', branches } = open.step.fork as NonNullable<StepSpec['fork']>;
    const parent = open.place.fiber();
    let working = branches.length;
    const { branches: children } = open;
    try {
      for (const { id, do: steps } of branches)
        children.push(
          this.spawn(`${open.id}/${id}`, steps, open.place, {
            ended: () => {
              working -= 1;
              if (mode === 'compete') this.send(open.id, { is: 'done', result: { winner: id } });
              else if (working === 0) this.send(open.id, { is: 'done', result: null });
            },
            failed: (error) => this.drive(parent, () => parent.run.throw(error)),
            isBranch: true,
          }),
        );
      const said = yield* this.waited();
      return said.is === 'done' ? said.result : null;
    } finally {
      for (const child of children) this.stop(child);
    }
  }

  protected *compensate(open: Open, which: 'all' | readonly string[]): Run<Given> {
    const chosen = this.undoable.filter(({ element }) => which === 'all' || which.includes(element));
    open.undoing = chosen;
    const undone: string[] = [];
    for (let next = chosen.pop(); next !== undefined; next = chosen.pop()) {
      const { element, steps } = next;
      if (!this.undoable.includes(next)) continue;
      const other = this.undoers.get(element);
      if (other !== undefined) {
        other.push(next);
        continue;
      }
      this.undoable = this.undoable.filter((one) => one !== next);
      undone.push(element);
      this.undoers.set(element, chosen);
      try {
        yield* this.list(steps, open.place);
      } finally {
        this.undoers.delete(element);
      }
    }
    return undone;
  }

  protected *approve(open: Open): Run<Extract<Message, { is: 'done' | 'skip' }>> {
    const { step } = open;
    const asked = step.approve as NonNullable<StepSpec['approve']>;
    open.waitsFor = 'approvals';
    this.duties(open);
    this.opens(open, 'find_voters');
    const { ballots: votes } = open;
    open.closes = () => {
      for (const [principal, { vote, isAsked }] of votes)
        if (isAsked && vote === 'pending') this.does('close_approval', open, principal);
    };
    for (;;) {
      const said = yield* this.waited();
      if (said.is === 'skip' || said.is === 'done') return said;
      const ended = (outcome: string, reason: string) => {
        const shown = [...votes].map(([principalId, { vote }]) => ({ principalId, vote }));
        return { is: 'done', result: { outcome, reason, votes: shown }, status: outcome } as const;
      };
      if (said.is === 'due') return ended(said.outcome, 'due');
      if (said.is === 'voters') {
        open.isRefused = false;
        const found = said.principals.filter(
          (one) => asked.separationOfDuties !== true || !this.workers.has(one),
        );
        const before = new Map(votes);
        votes.clear();
        for (const [principal, one] of before) {
          if (!one.isAsked || found.includes(principal)) continue;
          votes.set(principal, one);
          if (one.vote !== 'pending') continue;
          this.does('close_approval', open, principal);
          one.vote = 'left';
        }
        for (const principal of found)
          votes.set(principal, before.get(principal) ?? { vote: 'pending', isAsked: false });
      }
      const ballot = 'principal' in said ? votes.get(said.principal) : undefined;
      if (said.is === 'vote' || said.is === 'left') {
        if (ballot?.vote !== 'pending') continue;
        if (said.is === 'left' && ballot.isAsked) this.does('close_approval', open, said.principal);
        ballot.vote = said.is === 'left' ? 'left' : said.vote;
      }
      const result = resultOf([...votes.values()], asked);
      if (result !== undefined) return ended(result.outcome, result.reason);
      const isBusy = [...votes.values()].some(({ vote, isAsked }) => isAsked && vote === 'pending');
      for (const [principal, one] of votes) {
        if (one.isAsked || (asked.mode === 'sequential' && (isBusy || one.vote === 'left'))) continue;
        one.isAsked = true;
        this.does('ask_approval', open, principal);
        if (asked.mode === 'sequential') break;
      }
    }
  }

  protected decide(tableId: string): Given {
    const table = this.spec.decisions?.find(({ id }) => id === tableId);
    const hits = (table?.rules ?? []).filter(({ when }) =>
      when.every((text) => apply(text, this.data) === true),
    );
    const said = hits.map(({ then: [text = 'null'] }) => ({ out: apply(text, this.data) }));
    return table?.hitPolicy === 'collect' ? said : (said[0] ?? null);
  }

  protected writeAll(set: { readonly [field: string]: string }): void {
    this.write(
      Object.fromEntries(Object.entries(set).map(([field, text]) => [field, apply(text, this.data)])),
    );
  }

  protected write(values: JsonObject): void {
    this.data = { ...this.data, ...values };
    this.isDataNew = true;
  }

  /** The voters of an open step. @param vote only those whose vote is this */
  askedOf(element: string, vote?: Ballot['vote']): string[] {
    return [...(this.open.get(element)?.ballots ?? [])]
      .filter(([, one]) => one.isAsked && (vote === undefined || one.vote === vote))
      .map(([principal]) => principal);
  }

  // Time.

  protected duties(open: Open): void {
    const { due, escalations = [] } = open.step.human ?? open.step.approve ?? open.step.call ?? {};
    if (due !== undefined) {
      this.beginDue(open.id, due);
      open.slaState = 'ok';
    }
    for (const [n, { after }] of escalations.entries()) {
      if (after !== 'due') this.startTimer(open.id, 'escalation', n + 1, after);
      else if (due !== undefined)
        this.startTimer(open.id, 'escalation', n + 1, due.duration ?? { at: due.at as string });
    }
  }

  protected beginDue(element: string, { duration, at, warnBefore }: NonNullable<Spec['due']>): void {
    const when = duration ?? { at: at as string };
    this.startTimer(element, 'due', 0, when);
    if (warnBefore !== undefined) this.startTimer(element, 'warn', 0, when, msOf(warnBefore));
  }

  protected beginTimer({ id, at }: TimerSpec): void {
    this.startTimer(id, 'timer', 0, { at });
  }

  protected startTimer(
    element: string,
    purpose: string,
    level: number,
    when: string | { readonly at: string },
    earlierMs = 0,
  ): void {
    if (typeof when === 'string') return this.startTimerMs(element, purpose, level, msOf(when) - earlierMs);
    const at = () => {
      const value = apply(when.at, this.data);
      return typeof value === 'string' ? Date.parse(value) - earlierMs : null;
    };
    this.timers.push({ element, purpose, level, dueMs: at(), at, remainingMs: null });
  }

  protected startTimerMs(element: string, purpose: string, level: number, inMs: number): void {
    this.timers.push({ element, purpose, level, dueMs: this.nowMs + inMs, at: null, remainingMs: null });
  }

  protected fired({ element, purpose, level }: ModelTimer): void {
    const open = this.open.get(element);
    if (purpose === 'due' || purpose === 'warn') {
      const owner = open ?? this;
      if (owner.slaState === 'breached') return;
      owner.slaState = purpose === 'due' ? 'breached' : 'warning';
      const onDue = purpose === 'due' ? open?.step.approve?.onDue : undefined;
      if (onDue === undefined || onDue === 'escalate') return;
      return this.send(element, { is: 'due', outcome: onDue === 'approve' ? 'approved' : 'rejected' });
    }
    if (purpose === 'wait' || purpose === 'retry') return this.send(element, { is: 'done', result: null });
    if (purpose === 'timeout') return this.send(element, { is: 'timeout' });
    const { escalations = [] } = open?.step.human ?? open?.step.approve ?? {};
    const { action, error } = escalations[level - 1] ?? {};
    if (open !== undefined) this.does('escalate', open, level);
    if (action === 'raise' && error !== undefined) this.throwIn(element, new Raised(error.type));
  }

  protected stopAll(stage: string | null): void {
    for (const fiber of this.fibers) if (stage === null || fiber.stage === stage) this.stop(fiber);
  }

  protected pause(): void {
    this.status = 'suspended';
    for (const timer of this.timers)
      timer.remainingMs = timer.dueMs === null ? null : timer.dueMs - this.nowMs;
  }

  protected goOn(): void {
    this.status = 'running';
    for (const timer of this.timers) {
      if (timer.at === null && timer.remainingMs !== null && timer.remainingMs > 0)
        timer.dueMs = this.nowMs + timer.remainingMs;
      timer.remainingMs = null;
    }
    this.ready.sort((one, other) => one.list - other.list);
  }
}

function msOf(duration: string): number {
  return Number(duration.slice(2, -1)) * 1000;
}
