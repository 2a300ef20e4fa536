import type { JournalEvent } from '@baton/sdk';

/** The fields of an event that the proof reads. */
export type ToldEvent = Pick<
  JournalEvent,
  'id' | 'type' | 'entityType' | 'entityId' | 'actorId' | 'payload' | 'occurredAt' | 'cursor'
>;

export interface Moment {
  /** The index of the event in the journal, from 0. */
  readonly position: number;
  readonly what: string;
}

export interface Lease {
  readonly claimId: string;
  readonly fencingToken: number;
  readonly position: number;
  readonly takenAtMs: number;
  readonly holderId: string;
  /** The expiry of the claim or, if that is earlier, of its session. */
  expiresAtMs: number;
  end: Moment | undefined;
}

/** The history of one task, in the journal's order. */
export interface TaskHistory {
  readonly taskId: string;
  name: string;
  readonly waitsFor: Set<string>;
  readonly leases: Lease[];
  readonly starts: (Moment & { readonly claimId: string })[];
  /** Runs that succeeded and completed the task. */
  readonly successes: Moment[];
  readonly completions: Moment[];
  /** The task's consecutive statuses, from claim and completion events. */
  readonly statuses: string[];
  readonly gates: Gate[];
  /** The numbers of the checkpoints of each run. */
  readonly checkpoints: Map<string, number[]>;
}

/** An approval that blocks the task. */
export interface Gate {
  readonly approvalId: string;
  openedAt: number | undefined;
  openedBy: string | undefined;
}

/** Groups the journal by task; tasks outside `taskIds` are left out. */
export function readHistories(events: readonly ToldEvent[], taskIds: ReadonlySet<string>): TaskHistory[] {
  const histories = new Map([...taskIds].map((taskId) => [taskId, emptyHistory(taskId)]));
  const leasesOfSession = new Map<string, Lease[]>();
  for (const [position, event] of events.entries()) {
    const { type, entityId, payload } = event;
    if (type === 'session.expired') capBySession(leasesOfSession.get(entityId) ?? [], payload);
    const history = histories.get(event.entityType === 'task' ? entityId : String(payload.taskId));
    if (history === undefined) continue;
    if (typeof payload.publicId === 'string') history.name = payload.publicId;
    const moment = { position, what: type };
    noteStatus(history, payload);
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
    else if (type === 'approval.requested')
      history.gates.push({ approvalId: entityId, openedAt: undefined, openedBy: undefined });
    else if (type === 'approval.approved') openGate(history, event, position);
    else if (type === 'run.checkpointed')
      history.checkpoints.set(entityId, [...(history.checkpoints.get(entityId) ?? []), Number(payload.seq)]);
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
    statuses: [],
    gates: [],
    checkpoints: new Map(),
  };
}

function noteStatus({ statuses }: TaskHistory, { status, taskStatus = status }: ToldEvent['payload']): void {
  if (typeof taskStatus === 'string' && taskStatus !== statuses.at(-1)) statuses.push(taskStatus);
}

function openGate({ gates }: TaskHistory, { entityId, payload }: ToldEvent, position: number): void {
  const gate = gates.find(({ approvalId }) => approvalId === entityId);
  if (gate !== undefined) Object.assign(gate, { openedAt: position, openedBy: String(payload.decisionBy) });
}

function leaseOf({ payload, occurredAt }: ToldEvent, position: number): Lease {
  return {
    claimId: String(payload.claimId),
    fencingToken: Number(payload.fencingToken),
    holderId: String(payload.holderId),
    position,
    takenAtMs: Date.parse(occurredAt),
    expiresAtMs: Date.parse(String(payload.expiresAt)),
    end: undefined,
  };
}

/** Shortens leases to the end of their session, because a lease lasts no longer than its session. */
function capBySession(leases: readonly Lease[], payload: ToldEvent['payload']): void {
  const endedMs = Date.parse(String(payload.expiresAt));
  for (const lease of leases) lease.expiresAtMs = Math.min(lease.expiresAtMs, endedMs);
}
