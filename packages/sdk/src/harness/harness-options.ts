import type { Claim, ClaimNextRequest, Task } from '../generated/coordination-types.ts';
import type { Store } from '../store.ts';
import type { RunSettings } from './lease.ts';

export interface HarnessOptions {
  /** The name of the client that people see; 1 to 200 characters. */
  readonly name: string;
  readonly version?: string;
  /**
   * The kind of harness, for example `my-agent`: lower case letters, digits, `.`, `_` and `-`; `baton-sdk` by default.
   */
  readonly type?: string;
  /** The version of the harness, if the client's is another one. */
  readonly harnessVersion?: string;
  /** The machine that it runs on, which people see; 255 characters at most. */
  readonly hostname?: string;
  /** Capabilities of the harness in addition to the runtime's own `resume` and `checkpoints`. */
  readonly capabilities?: readonly string[];
  /** How long session and leases last without a heartbeat, 10 to 3,600 seconds; 60 by default. */
  readonly leaseSeconds?: number;
  /** Stores the session's id, so that the next start of the same program continues this one's work. */
  readonly store?: Store;
  /** The person on whose behalf the harness works, by a delegation. */
  readonly onBehalfOf?: string;
  /** Shown with the session: anything that helps people to identify this process. */
  readonly metadata?: Record<string, unknown>;
  /** Aborts the opening; it has no effect on an open harness. */
  readonly signal?: AbortSignal;
}

/** Which work the harness takes, and how. */
export interface WorkOptions {
  readonly filter?: Pick<
    ClaimNextRequest,
    | 'workspaceId'
    | 'includeDescendants'
    | 'projectId'
    | 'includeSubprojects'
    | 'assigneeId'
    | 'assignedToMe'
    | 'includeAssigned'
  >;
  /**
   * Selects among the available tasks: of the first 500, the most urgent one that it accepts is claimed. Without it,
   * the service selects, which costs one call instead of three. It is called for each search for work.
   */
  readonly accepts?: ((task: Task) => boolean) | undefined;
  /**
   * Works on this task, such as `TASK-42`, instead of the available ones. The loop ends after it, and throws if the
   * task can't be claimed.
   */
  readonly task?: string;
  /** Shown with the claim; up to 500 characters. */
  readonly intent?: string;
  /** Budgets and metadata of the runs; a function is called when a task is claimed, before its run starts. */
  readonly run?: RunSettings | ((task: Task, claim: Claim) => RunSettings);
  /** Ends the loop after the current task. */
  readonly signal?: AbortSignal;
  /** Ends the loop when no work is available, instead of waiting. */
  readonly once?: boolean;
  /** The longest pause between two searches for work in milliseconds, 5,000 by default. The first pause is 250. */
  readonly idleMs?: number;
}
