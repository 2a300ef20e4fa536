import { z } from 'zod';
import type { PreparedSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { findStatus, type Lifecycle, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { Coverage, coverageOf } from './coverage.ts';
import { type EngineTime, NotSimulated, type Outcome } from './outcome.ts';
import type { TestStep } from './test-document.ts';

/**
 * Tests of a task type: its lifecycle and its fields (docs/reference/definitions.md; docs/reference/packages.md#tests).
 */

export const TaskTypeCoverage = z
  .strictObject({ key: z.string(), statuses: Coverage, transitions: Coverage })
  .meta({ id: 'PackageTaskTypeCoverage' });

export interface SimulatedTaskType {
  readonly key: string;
  readonly lifecycle: Lifecycle;
  readonly fieldSchema: PreparedSchema;
  /** Whether a completion requires checks to pass, and not only a status change. */
  readonly hasChecks: boolean;
  /** Whether the type declares actions for completed or verified tasks. */
  readonly declaresWork: boolean;
  readonly reachedStatuses: Set<string>;
  readonly reachedMoves: Set<string>;
}

export function coverageOfTaskType({
  key,
  lifecycle,
  reachedStatuses,
  reachedMoves,
}: SimulatedTaskType): z.infer<typeof TaskTypeCoverage> {
  const statuses = new Set(lifecycle.statuses.map((status) => status.key));
  const moves = lifecycle.transitions.flatMap(({ from }) =>
    movesFrom(lifecycle, from).map((to) => moveOf(from, to)),
  );
  return {
    key,
    statuses: coverageOf(statuses, reachedStatuses),
    transitions: coverageOf(new Set(moves), reachedMoves),
  };
}

const moveOf = (from: string, to: string) => `${from} → ${to}`;

/** One task of the type, which starts in its initial status without custom fields. */
export class TaskTypeTest {
  readonly #type: SimulatedTaskType;
  readonly #time: EngineTime;
  #status: string;
  #fields: JsonObject = {};

  constructor(type: SimulatedTaskType, _now: string, time: EngineTime) {
    this.#type = type;
    this.#time = time;
    this.#status = type.lifecycle.initialStatus;
    type.reachedStatuses.add(this.#status);
  }

  *step({ transition }: TestStep): Generator<void, Outcome> {
    if (transition === undefined) throw new NotSimulated('the actions of a task type at an event');
    const refused = yield* this.#time.run(() => this.#move(transition));
    const outcome: Outcome = {
      status: this.#status,
      data: this.#fields,
      created: [],
      problems: [],
      refused,
    };
    if (!this.#type.declaresWork) return outcome;
    const why = 'the declared actions of the type are not simulated';
    return { ...outcome, unknown: { names: ['created'], why } };
  }

  /**
   * Handles a PATCH of the status, or `:complete` for the status of completion, with their refusals in order
   * (docs/reference/tasks.md#moves).
   * @returns the code of a refusal
   */
  #move({ status: to, customFields }: NonNullable<TestStep['transition']>): string | null {
    const { lifecycle, fieldSchema, hasChecks, reachedStatuses, reachedMoves } = this.#type;
    const [from, found] = [this.#status, findStatus(lifecycle, to)];
    if (found === undefined) return 'status_not_in_lifecycle';
    const isSuccess = found.category === 'terminal_success';
    // Only a completion can move a task to a success status, and it can't move the task to any other status.
    if (isSuccess && to !== lifecycle.completionStatus) return 'invalid_status';
    const ended = findStatus(lifecycle, from)?.category;
    if (isSuccess && ended === 'terminal_success') return 'task_already_completed';
    if (isSuccess && ended === 'terminal_cancelled') return 'task_cancelled';
    if (!movesFrom(lifecycle, from).includes(to)) return 'invalid_transition';
    const fields = customFields ?? this.#fields;
    if (customFields !== undefined && fieldSchema.faultsOf(fields).length > 0) return 'custom_fields_invalid';
    if (isSuccess && hasChecks) throw new NotSimulated('the completion checks of this task type');
    this.#fields = fields;
    this.#status = to;
    reachedStatuses.add(to);
    reachedMoves.add(moveOf(from, to));
    return null;
  }
}
