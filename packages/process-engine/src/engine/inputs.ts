import type { Json, JsonObject } from '@baton/values/wire';
import type { Assignee, Escalation } from '../language/forms.ts';
import type { CaseMemory } from './case/case.ts';
import type { EventRoot, StepError, TaskRoot } from './state.ts';

/** The ids of one version mapped to those of a later one; null for a removed element. */
export type ElementMap = { readonly [element: string]: string | null };

/** An input of an instance. Each has its own time, so that the same inputs always produce the same state. */
export type Input = { readonly at: string } & (
  | { readonly kind: 'start'; readonly event: EventRoot | null }
  | {
      readonly kind: 'event';
      readonly event: EventRoot;
      /** The object that the event concerns, as read by the shell. */
      readonly task?: TaskRoot | null;
      readonly call?: CallEnd | null;
      readonly child?: ChildEnd | null;
      /** The output of a task's last run, if it succeeded and had one. */
      readonly output?: Json;
      /** The correlations that matched, by index. */
      readonly correlations?: readonly number[];
      /** The version of the definition that these indexes refer to, for a stored input. */
      readonly version?: number;
    }
  | { readonly kind: 'timer'; readonly timerId: string }
  /** The people resolved from the approvers of a step, in order. */
  | { readonly kind: 'voters'; readonly element: string; readonly principals: readonly string[] }
  /** The object that a step tried to open was refused. */
  | {
      readonly kind: 'intent_failed';
      readonly element: string;
      /** The approval that could not be requested. */
      readonly approvalId?: string;
      readonly code: string;
      readonly details: JsonObject;
    }
  /** The memory service has returned a result. */
  | ({ readonly kind: 'recalled'; readonly element: string; readonly recallId: string } & Recalled)
  /** The memory service can't return a result. */
  | {
      readonly kind: 'recall_failed';
      readonly element: string;
      readonly recallId: string;
      readonly reason: string;
    }
  | { readonly kind: 'suspend'; readonly reason: string; readonly cause: 'operator' }
  | {
      readonly kind: 'park';
      readonly element: string | null;
      readonly code: string;
      readonly reason: string;
      /** The event that would start the instance, if the start itself failed. */
      readonly trigger?: Pick<EventRoot, 'id' | 'type'>;
    }
  | { readonly kind: 'resume'; readonly reason: string | null }
  | { readonly kind: 'skip'; readonly element: string; readonly reason: string }
  /** The instance migrates to a later version. */
  | { readonly kind: 'migrate'; readonly fromVersion: number; readonly toVersion: number }
  | { readonly kind: 'cancel'; readonly reason: string; readonly compensate: boolean }
);

export interface CallEnd {
  readonly id: string;
  readonly skill: string;
  readonly status: string;
  readonly output: Json;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** A query to the memory service. */
export interface RecallQuestion {
  readonly anchors: readonly string[];
  readonly kinds: readonly string[];
  readonly relations: readonly string[];
  readonly depth: number;
  readonly maxTokens: number;
  readonly asOf: string;
}

/** The part of a memory query's result that a step accepts. */
export interface Recalled {
  readonly asOf: string;
  readonly nodeCount: number;
  readonly edgeCount: number;
  /** Whether the service had more. */
  readonly truncated: boolean;
  readonly resultHash: string;
  readonly result: JsonObject;
}

/** The end of an instance of a called process. */
export interface ChildEnd {
  readonly status: string;
  readonly outcome: string | null;
  readonly data: JsonObject;
  /** The reason of its failure or cancellation. */
  readonly error: StepError | null;
}

/** A line of the instance's own journal. */
export interface JournalNote {
  readonly kind: 'decision' | 'intent' | 'input' | 'settings' | 'data' | 'timer' | 'state';
  readonly element: string | null;
  readonly reason: string | null;
  readonly data: JsonObject;
}

/** An event that the step emits; the shell adds the head of its payload. */
export interface ProcessEvent {
  readonly type: string;
  readonly payload: JsonObject;
}

/** The open task of a step, with the step's id and form in the later version. */
export interface RenamedTask {
  readonly taskId: string;
  readonly step: string;
  readonly form: JsonObject | null;
}

/** The effects of a step outside of the engine, in the same transaction. */
export type Effect =
  | {
      readonly kind: 'open_task';
      /** Null for the task that reviews the instance. */
      readonly element: string | null;
      readonly taskId: string;
      readonly typeKey: string;
      readonly title: string;
      readonly form: JsonObject | null;
      readonly context: JsonObject;
      readonly assign: readonly Assignee[];
      readonly dueAt: string | null;
      /** Whether the task is refused if no assignee can be resolved. */
      readonly isForSomebody?: boolean;
    }
  | {
      /** Open tasks whose steps have another id or form from now on. */
      readonly kind: 'rename_tasks';
      readonly element: null;
      readonly tasks: readonly RenamedTask[];
    }
  | { readonly kind: 'close_task'; readonly element: string; readonly taskId: string }
  | { readonly kind: 'find_voters'; readonly element: string; readonly approvers: readonly Assignee[] }
  | {
      readonly kind: 'ask_approval';
      readonly element: string;
      readonly approvalId: string;
      readonly principalId: string;
      readonly comment: string;
      readonly excluded: readonly string[];
    }
  | { readonly kind: 'close_approval'; readonly element: string; readonly approvalId: string }
  | {
      readonly kind: 'open_call';
      readonly element: string;
      readonly callId: string;
      readonly skill: string;
      readonly inputs: JsonObject;
    }
  | { readonly kind: 'close_call'; readonly element: string; readonly callId: string }
  | {
      readonly kind: 'open_instance';
      readonly element: string;
      readonly childId: string;
      /** A key, or `key@version`. */
      readonly process: string;
      readonly instanceKey: string;
      readonly data: JsonObject;
    }
  | { readonly kind: 'close_instance'; readonly element: string; readonly childId: string }
  | {
      readonly kind: 'open_recall';
      readonly element: string;
      readonly recallId: string;
      readonly question: RecallQuestion;
    }
  | { readonly kind: 'close_recall'; readonly element: string; readonly recallId: string }
  | {
      readonly kind: 'open_observation';
      readonly element: string;
      readonly observationId: string;
      readonly observed: string;
      readonly content: string;
      readonly data: JsonObject;
      readonly facts: readonly { subject: string; predicate: string; object: string }[];
    }
  | {
      readonly kind: 'tell_case';
      readonly element: null;
      readonly status: string;
      readonly memory: CaseMemory;
    }
  | {
      readonly kind: 'escalate';
      readonly element: string;
      readonly level: number;
      readonly action: Escalation['action'];
      readonly taskId: string | null;
      readonly to: readonly Assignee[];
      /** For a reminder without recipients: the people whose votes are missing, and the owner of the process. */
      readonly otherwise?: { readonly voters: readonly string[]; readonly owner: readonly Assignee[] };
    };

/** The `owner` and `assignee` of an event, which the shell resolves. */
export interface Responsible {
  readonly owner: readonly Assignee[];
  readonly taskId: string | null;
}

/** The consequences of an input, in the order in which they must be executed. */
export type Act =
  | { readonly do: 'note'; readonly note: JournalNote }
  | { readonly do: 'tell'; readonly event: ProcessEvent; readonly responsible?: Responsible }
  | {
      readonly do: 'effect';
      readonly effect: Effect /** Reported when it was done. */;
      readonly opened?: ProcessEvent;
    };
