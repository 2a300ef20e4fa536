import type { Json, JsonObject } from '@baton/values/wire';
import type { Vote } from './voting/quorum.ts';

/** The state of an instance between two inputs: a JSON document (docs/reference/processes.md#engine). */
export interface ProcessState {
  readonly id: string;
  readonly key: string;
  readonly startedAt: string;
  /** The time of the last input. */
  clock: string;
  status: ProcessStatus;
  outcome: string | null;
  data: JsonObject;
  stages: Record<string, StageState>;
  /** The stages' ids in the order of the definition; absent for an instance that began before this member existed. */
  stageOrder?: string[];
  milestones: Record<string, boolean>;
  nodes: Record<string, Node>;
  /**
   * How many nodes have been numbered so far; absent if the instance began before nodes had numbers and has had no new
   * node since.
   */
  nodesMade?: number;
  timers: Record<string, Timer>;
  /** For a called instance, whether it has begun. Its row exists before that. */
  hasBegun?: boolean;
  /** The number of times that each element was entered. */
  attempts: Record<string, number>;
  /** Completed elements that can be compensated, in order of completion. */
  undoable: Undoable[];
  /** Events that wait for running handlers, in order of arrival. */
  queued: { readonly handler: string; readonly event: EventRoot }[];
  /** The values of `step` and `task` in expressions. */
  lastStep: StepRoot | null;
  lastTask: TaskRoot | null;
  /** Principals that worked on tasks of this instance: they don't vote if duties are separated. */
  workers: string[];
  /** The fault that stops it until an operator resumes or skips. */
  parked: Parked | null;
  /** Elements to skip when they are reached, on an operator's request. */
  skipped: string[];
  /** A cancellation that is waiting for its compensation. */
  ending: { readonly reason: string; readonly undone: string[] } | null;
  /**
   * False until its start was processed: no stage begins before that, even if the start failed and the instance is
   * resumed.
   */
  isStarted?: boolean;
  /**
   * Whether `process.started` was emitted; absent until then, and for instances that started before this was stored.
   */
  isStartTold?: boolean;
  /** Whether a timer of the definition ended all stages; no stage begins afterwards. */
  isInterrupted: boolean;
  /** The length of the chain of process triggers that led to its start; set by the shell that starts it. */
  links?: number;
  /** A hash of the last case that was reported to the memory service. */
  memoryTold?: string;
  /** The deadline of the whole instance. */
  due: Deadline | null;
  slaState: SlaState;
}

export type ProcessStatus = 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled';
export type StageStateName = 'available' | 'active' | 'completed' | 'terminated';
export type SlaState = 'ok' | 'warning' | 'breached' | 'paused' | 'unknown' | 'none';

export interface StageState {
  state: StageStateName;
  attempt: number;
  /** Whether the stage's entry held at the last evaluation: a repeatable stage begins again when it holds again. */
  entryHeld: boolean;
  /** The stage's discretionary steps that have begun in this attempt. */
  begun?: string[];
}

/** The reason why an instance could not migrate to a later version. */
export const migrationFailed = 'migration_failed';

export interface Parked {
  readonly element: string | null;
  readonly code: string;
  readonly reason: string;
}

export interface StepError {
  readonly type: string;
  readonly status: number | null;
  readonly detail: string | null;
}

export interface Undoable {
  readonly element: string;
  /** The number of the attempt. */
  readonly attempt: number;
  readonly stage: string | null;
  readonly step: StepRoot;
}

/** A running list of steps, or one waiting step. */
export type Node = SequenceNode | ElementNode;

export interface SequenceNode {
  readonly kind: 'sequence';
  /** The key of the list in the definition; also the key of this node. */
  readonly id: string;
  /**
   * The node's number within the instance, from 1. It is stored because PostgreSQL does not preserve the order of a
   * document's members.
   */
  readonly order?: number;
  /** The element that the list belongs to; null for a stage's list and for one that a timer or an event started. */
  readonly parent: string | null;
  readonly stage: string | null;
  /** The current step. */
  at: number;
}

/** Nodes in creation order. */
export function inOrder(nodes: ProcessState['nodes']): Node[] {
  return Object.values(nodes).sort(({ order: one = 0 }, { order: other = 0 }) => one - other);
}

export type WaitsFor =
  | 'task'
  | 'approvals'
  | 'skill'
  | 'process'
  | 'memory'
  | 'timer'
  | 'event'
  | 'steps'
  | null;

export interface ElementNode {
  readonly kind: 'element';
  readonly id: string;
  /** The node's number within the instance, as for a sequence. */
  readonly order?: number;
  readonly stepKind: string;
  /** The sequence that contains this step. */
  readonly parent: string;
  readonly stage: string | null;
  readonly attempt: number;
  readonly activityId: string;
  readonly since: string;
  /** The value of `input.from`, if the step has one. */
  readonly input?: Json;
  waitsFor: WaitsFor;
  taskId?: string;
  ballots?: Ballot[];
  /**
   * For a step with approvals, whether its entry event was emitted: the voters may be resolved twice, but the event is
   * emitted once.
   */
  isEntered?: boolean;
  callId?: string;
  /** The instance of a called process. */
  childId?: string;
  /** The query of a `recall`, and the observation of a `remember`. */
  recallId?: string;
  observationId?: string;
  due: Deadline | null;
  slaState: SlaState;
  /** Whether the object that the step opened has ended by itself. */
  isAnswered?: boolean;
  /** For a `try`: the number of retries, and the error that its catch handles. */
  retries?: number;
  error?: StepError;
  /** For an `approve`, whether the voters are still being resolved; until then, nothing is requested. */
  isFindingVoters?: boolean;
  /** For a `compensate`: the elements still to be compensated, the next one last. */
  undoing?: Undoable[];
  undone?: string[];
  /** Whether the object that the step opens was refused; a resume then opens it again. */
  refused?: boolean;
}

export interface Ballot {
  readonly approvalId: string;
  readonly principalId: string;
  vote: Vote;
  /** Whether the approval was requested; in sequential mode, they are requested one after another. */
  asked: boolean;
}

export interface Deadline {
  dueAt: string | null;
  warnAt: string | null;
  provisional: boolean;
  remainingSeconds: number | null;
  remainingUnit: 'wall' | 'working_seconds' | 'workdays';
}

export type TimerPurpose = 'wait' | 'timeout' | 'retry' | 'due' | 'warn' | 'escalation' | 'timer';

export interface Timer {
  readonly id: string;
  /**
   * The element that the timer belongs to, the timer's own id in the definition, or, for the deadline of the instance,
   * the instance's id.
   */
  readonly element: string;
  readonly purpose: TimerPurpose;
  readonly level: number;
  dueAt: string | null;
  state: 'pending' | 'frozen' | 'fired' | 'cancelled';
  provisional: boolean;
  remainingSeconds: number | null;
  /** The unit in which the remaining time is counted while the timer is frozen; a fixed instant stays unchanged. */
  readonly unit: TimeUnit;
  /** The calendar that counts the time; null for wall-clock time. */
  readonly calendar: string | null;
}

export type TimeUnit = 'wall' | 'working_seconds' | 'workdays' | 'instant';

/** The value of `event` in expressions. */
export interface EventRoot {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly actorId: string | null;
  readonly correlationId: string | null;
  readonly payload: JsonObject;
}

export interface StepRoot {
  readonly id: string;
  readonly skill: string | null;
  readonly status: string;
  readonly result: Json;
  readonly error: StepError | null;
  /** The value of `input.from`. */
  readonly input: Json;
}

/** The value of `task` in expressions: the last task whose step has ended. */
export interface TaskRoot {
  readonly id: string;
  readonly publicId: string;
  readonly typeKey: string;
  readonly typeVersion: number;
  readonly title: string;
  readonly status: string;
  readonly systemStatusCategory: string;
  readonly priority: string;
  readonly workspaceId: string | null;
  readonly assigneeId: string | null;
  readonly customFields: JsonObject;
}
