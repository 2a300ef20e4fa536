import type { Claim, ClaimNextRequest, Task } from '../generated/coordination-types.ts';
import type { Store } from '../store.ts';
import type { RunSettings } from './lease.ts';

export interface HarnessOptions {
  /** What people see as the client's name; 1 to 200 characters. */
  readonly name: string;
  readonly version?: string;
  /** The kind of harness, as `my-agent`: lower case letters, digits, `.`, `_` and `-`; `baton-sdk` without it. */
  readonly type?: string;
  /** What the harness can do beside the runtime's own `resume` and `checkpoints`. */
  readonly capabilities?: readonly string[];
  /** How long session and leases last without a heartbeat, 10 to 3,600 seconds; 60 without it. */
  readonly leaseSeconds?: number;
  /** Where the session's id is kept, so that the next start of the same program continues the work of this one. */
  readonly store?: Store;
  /** The person for whom the harness works, by a delegation. */
  readonly onBehalfOf?: string;
  /** Shown with the session: anything that helps people to know which process this is. */
  readonly metadata?: Record<string, unknown>;
  /** Ends the opening; of an open harness it ends nothing. */
  readonly signal?: AbortSignal;
}

/** Which work is taken, and how. */
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
   * Chooses among what is available: the most urgent task that it accepts is taken, of the first 500. Without it the
   * service chooses, which costs one call instead of three. It is called anew for each search for work.
   */
  readonly accepts?: ((task: Task) => boolean) | undefined;
  /**
   * One task that is to be done, such as `TASK-42`, in place of what is available. The loop ends after it, and throws the refusal
   * where it can't be claimed.
   */
  readonly task?: string;
  /** Shown with the claim; up to 500 characters. */
  readonly intent?: string;
  /** Budgets and metadata of the runs; a function is called when a task is claimed, before its run starts. */
  readonly run?: RunSettings | ((task: Task, claim: Claim) => RunSettings);
  /** Ends the loop after the task in hand. */
  readonly signal?: AbortSignal;
  /** Ends the loop when there is no work, instead of waiting for some. */
  readonly once?: boolean;
  /** The longest pause between two searches for work in milliseconds, 5,000 by default. Pauses begin with 250. */
  readonly idleMs?: number;
}
