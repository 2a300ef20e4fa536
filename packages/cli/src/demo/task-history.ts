import type { JournalEvent } from '../wire.ts';

export interface Moment {
  /** Its index in the journal, from 0. */
  readonly position: number;
  readonly what: string;
}

export interface Lease {
  readonly claimId: string;
  readonly fencingToken: number;
  readonly position: number;
  readonly takenAtMs: number;
  /** When the lease expires: at the claim's time, or at its session's if that is earlier. */
  expiresAtMs: number;
  end: Moment | undefined;
}

/** What the journal says about one task, in the journal's order. */
export interface TaskHistory {
  readonly taskId: string;
  name: string;
  readonly waitsFor: Set<string>;
  readonly leases: Lease[];
  readonly starts: (Moment & { readonly claimId: string })[];
  /** Runs that succeeded and completed the task. */
  readonly successes: Moment[];
  readonly completions: Moment[];
}

/** Groups the journal by task; other tasks than `taskIds` are left out. */
export function readHistories(events: readonly JournalEvent[], taskIds: ReadonlySet<string>): TaskHistory[] {
  const histories = new Map([...taskIds].map((taskId) => [taskId, emptyHistory(taskId)]));
  const leasesOfSession = new Map<string, Lease[]>();
  for (const [position, event] of events.entries()) {
    const { type, entityId, payload } = event;
    if (type === 'session.expired') capBySession(leasesOfSession.get(entityId) ?? [], payload);
    const history = histories.get(event.entityType === 'task' ? entityId : String(payload.taskId));
    if (history === undefined) continue;
    if (typeof payload.publicId === 'string') history.name = payload.publicId;
    const moment = { position, what: type };
    if (type === 'task.relation_added' && payload.type === 'depends_on')
      history.waitsFor.add(String(payload.toTaskId));
    else if (type === 'task.claimed') {
      const lease = leaseOf(event, position);
      history.leases.push(lease);
      leasesOfSession.set(String(payload.sessionId), [
        ...(leasesOfSession.get(String(payload.sessionId)) ?? []),
        lease,
      ]);
    } else if (type === 'claim.released' || type === 'claim.expired') {
      const lease = history.leases.find(({ claimId }) => claimId === entityId);
      if (lease !== undefined) lease.end ??= moment;
    } else if (type === 'run.started') history.starts.push({ ...moment, claimId: String(payload.claimId) });
    else if (type === 'run.succeeded' && payload.taskCompleted === true) history.successes.push(moment);
    else if (type === 'task.completed') history.completions.push(moment);
  }
  return [...histories.values()];
}

function emptyHistory(taskId: string): TaskHistory {
  return {
    taskId,
    name: taskId,
    waitsFor: new Set(),
    leases: [],
    starts: [],
    successes: [],
    completions: [],
  };
}

function leaseOf({ payload, occurredAt }: JournalEvent, position: number): Lease {
  return {
    claimId: String(payload.claimId),
    fencingToken: Number(payload.fencingToken),
    position,
    takenAtMs: Date.parse(occurredAt),
    expiresAtMs: Date.parse(String(payload.expiresAt)),
    end: undefined,
  };
}

/** A lease lasts no longer than its session. */
function capBySession(leases: readonly Lease[], payload: JournalEvent['payload']): void {
  const endedMs = Date.parse(String(payload.expiresAt));
  for (const lease of leases) lease.expiresAtMs = Math.min(lease.expiresAtMs, endedMs);
}
