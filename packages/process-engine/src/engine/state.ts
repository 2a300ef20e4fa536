import type { Json, JsonObject } from '@baton/values/wire';
import type { Vote } from './voting/quorum.ts';

/** All that an instance of a process remembers between two inputs: a JSON document (docs/reference/processes.md#engine). */
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
  /** Their ids as the definition has them; absent of an instance that began before this was kept. */
  stageOrder?: string[];
  milestones: Record<string, boolean>;
  nodes: Record<string, Node>;
  /** How many nodes there have been; absent until the first one of an instance that began before they had numbers. */
  nodesMade?: number;
  timers: Record<string, Timer>;
  /** Of an instance that a process called, whether it has begun: its row is there before. */
  hasBegun?: boolean;
  /** How often each element was entered. */
  attempts: Record<string, number>;
  /** Elements that were finished and can be undone, in that order. */
  undoable: Undoable[];
  /** Events for handlers that are at work, in their order. */
  queued: { readonly handler: string; readonly event: EventRoot }[];
  /** What the expressions read as `step` and `task`. */
  lastStep: StepRoot | null;
  lastTask: TaskRoot | null;
  /** Principals that worked on tasks of this instance: they don't vote where duties are separated. */
  workers: string[];
  /** The fault that it can't go on for, until somebody resumes or skips. */
  parked: Parked | null;
  /** Elements that an operator passes over when they are reached. */
  skipped: string[];
  /** A cancel that waits for its compensation. */
  ending: { readonly reason: string; readonly undone: string[] } | null;
  /** False until its start was taken: no stage begins before, also where the start was at fault and somebody resumes. */
  isStarted?: boolean;
  /** Whether `process.started` was written; absent until then, and for instances that started before this was stored. */
  isStartTold?: boolean;
  /** Whether a timer of the definition ended all stages: none begins any more. */
  isInterrupted: boolean;
  /** How many triggers of processes in a row have led to its start; kept by who starts it. */
  links?: number;
  /** A hash of what memory was told last. */
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
  /** Whether its entry held when it was judged last: a repeatable stage begins again when it comes to hold anew. */
  entryHeld: boolean;
  /** Its discretionary steps that have begun, of this attempt. */
  begun?: string[];
}

/** The fault of an instance that a later version should go on with, and can't. */
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
  /** Which of its attempts. */
  readonly attempt: number;
  readonly stage: string | null;
  readonly step: StepRoot;
}

/** A list of steps that is at work, or one step that waits. */
export type Node = SequenceNode | ElementNode;

export interface SequenceNode {
  readonly kind: 'sequence';
  /** The key of its list in the definition, and of this node. */
  readonly id: string;
  /** Which node of the instance it is, counted from 1: PostgreSQL does not keep the order of a document's members. */
  readonly order?: number;
  /** The element that it belongs to; null for a stage and for what a timer or an event began. */
  readonly parent: string | null;
  readonly stage: string | null;
  /** The step that is at work. */
  at: number;
}

/** Nodes in the order in which they were made. */
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
  /** As that of a sequence. */
  readonly order?: number;
  readonly stepKind: string;
  /** The sequence that it stands in. */
  readonly parent: string;
  readonly stage: string | null;
  readonly attempt: number;
  readonly activityId: string;
  readonly since: string;
  /** What `input.from` gave, where the step has one. */
  readonly input?: Json;
  waitsFor: WaitsFor;
  taskId?: string;
  ballots?: Ballot[];
  /** Of a step with approvals, whether it was told that it was entered: its voters may be found twice. */
  isEntered?: boolean;
  callId?: string;
  /** The instance of a called process. */
  childId?: string;
  /** The question to memory of a `recall`, and the observation of a `remember`. */
  recallId?: string;
  observationId?: string;
  due: Deadline | null;
  slaState: SlaState;
  /** Whether what it opened has ended by itself. */
  isAnswered?: boolean;
  /** Of a `try`: how often it was tried again, and the error that its catch handles. */
  retries?: number;
  error?: StepError;
  /** Of an `approve`: nobody is asked until those who vote are found. */
  isFindingVoters?: boolean;
  /** Of a `compensate`: what is still to be undone, the next one last. */
  undoing?: Undoable[];
  undone?: string[];
  /** Whether what it opens was refused: it is opened again on a resume. */
  refused?: boolean;
}

export interface Ballot {
  readonly approvalId: string;
  readonly principalId: string;
  vote: Vote;
  /** Whether it was asked for; in turns, one after the other. */
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
  /** The element or the timer of the definition that it belongs to; the instance itself for its deadline. */
  readonly element: string;
  readonly purpose: TimerPurpose;
  readonly level: number;
  dueAt: string | null;
  state: 'pending' | 'frozen' | 'fired' | 'cancelled';
  provisional: boolean;
  remainingSeconds: number | null;
  /** How its time is counted while it is frozen; an instant that was given stays as it is. */
  readonly unit: TimeUnit;
  /** The calendar that counts it; null for wall time. */
  readonly calendar: string | null;
}

export type TimeUnit = 'wall' | 'working_seconds' | 'workdays' | 'instant';

/** What expressions read as `event`. */
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
  /** What `input.from` gave. */
  readonly input: Json;
}

/** What expressions read as `task`: of the last task of a step that ended. */
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
