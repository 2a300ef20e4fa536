import type { Json, JsonObject } from '@baton/values/wire';
import type { Assignee, Escalation } from '../language/forms.ts';
import type { CaseMemory } from './case/case.ts';
import type { EventRoot, StepError, TaskRoot } from './state.ts';

/** What ids of one version are called in a later one; null for what is gone. */
export type ElementMap = { readonly [element: string]: string | null };

/** What happens to an instance. Each brings its own time, so that the same inputs always lead to the same end. */
export type Input = { readonly at: string } & (
  | { readonly kind: 'start'; readonly event: EventRoot | null }
  | {
      readonly kind: 'event';
      readonly event: EventRoot;
      /** What the shell read of the object that the event is about. */
      readonly task?: TaskRoot | null;
      readonly call?: CallEnd | null;
      readonly child?: ChildEnd | null;
      /** What the last run of a task gave out, where it ended well and gave something. */
      readonly output?: Json;
      /** The correlations that brought it to this instance, by their numbers. */
      readonly correlations?: readonly number[];
      /** The version whose numbers these are, of an input that waits. */
      readonly version?: number;
    }
  | { readonly kind: 'timer'; readonly timerId: string }
  /** Who was found for the approvers of a step, in their order. */
  | { readonly kind: 'voters'; readonly element: string; readonly principals: readonly string[] }
  /** What a step opens was refused. */
  | {
      readonly kind: 'intent_failed';
      readonly element: string;
      /** The approval that could not be asked for. */
      readonly approvalId?: string;
      readonly code: string;
      readonly details: JsonObject;
    }
  /** Memory has answered. */
  | ({ readonly kind: 'recalled'; readonly element: string; readonly recallId: string } & Recalled)
  /** Memory will not answer. */
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
      /** The event that was to start the instance, where its start is what it can't go on with. */
      readonly trigger?: Pick<EventRoot, 'id' | 'type'>;
    }
  | { readonly kind: 'resume'; readonly reason: string | null }
  | { readonly kind: 'skip'; readonly element: string; readonly reason: string }
  /** It goes on by a later version. */
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

/** What is asked of memory. */
export interface RecallQuestion {
  readonly anchors: readonly string[];
  readonly kinds: readonly string[];
  readonly relations: readonly string[];
  readonly depth: number;
  readonly maxTokens: number;
  readonly asOf: string;
}

/** What memory knew, as far as a step takes it. */
export interface Recalled {
  readonly asOf: string;
  readonly nodeCount: number;
  readonly edgeCount: number;
  /** Whether it knew more. */
  readonly truncated: boolean;
  readonly resultHash: string;
  readonly result: JsonObject;
}

/** How an instance of a called process ended. */
export interface ChildEnd {
  readonly status: string;
  readonly outcome: string | null;
  readonly data: JsonObject;
  /** Of one that has failed, or why it was cancelled. */
  readonly error: StepError | null;
}

/** A line of the instance's own journal. */
export interface JournalNote {
  readonly kind: 'decision' | 'intent' | 'input' | 'settings' | 'data' | 'timer' | 'state';
  readonly element: string | null;
  readonly reason: string | null;
  readonly data: JsonObject;
}

/** An event that the step has to tell of; the head of its payload is added by who writes it. */
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

/** What a step wants to be done outside, in the same transaction. */
export type Effect =
  | {
      readonly kind: 'open_task';
      /** Null for the task that looks back at the instance. */
      readonly element: string | null;
      readonly taskId: string;
      readonly typeKey: string;
      readonly title: string;
      readonly form: JsonObject | null;
      readonly context: JsonObject;
      readonly assign: readonly Assignee[];
      readonly dueAt: string | null;
      /** Whether it is refused where nobody is found that it is for. */
      readonly isForSomebody?: boolean;
    }
  | {
      /** Open tasks whose steps have another id or another form from now on. */
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
      /** Of a reminder that names nobody: whose votes are missing, and who owns the process. */
      readonly otherwise?: { readonly voters: readonly string[]; readonly owner: readonly Assignee[] };
    };

/** Whom an event names by `owner` and `assignee`: who writes it finds them. */
export interface Responsible {
  readonly owner: readonly Assignee[];
  readonly taskId: string | null;
}

/** What comes of an input, in the order in which it is to be done. */
export type Act =
  | { readonly do: 'note'; readonly note: JournalNote }
  | { readonly do: 'tell'; readonly event: ProcessEvent; readonly responsible?: Responsible }
  | {
      readonly do: 'effect';
      readonly effect: Effect /** Told when it was done. */;
      readonly opened?: ProcessEvent;
    };
