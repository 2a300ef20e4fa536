import type { Pool } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { NotificationKind } from '../kinds.ts';
import type { Settings } from '../settings.ts';
import type { Notice, Recipient, Waiting } from './notice.ts';
import {
  type Assignment,
  findRecipients,
  findWaitingDecisions,
  findWaitingMentions,
  findWaitingMessages,
  findWaitingTasks,
  type WaitingRow,
  type Which,
} from './notices.sql.ts';

/** The types of events that may notify somebody, as patterns of `like`. */
export const noticeTypes = [
  'approval.requested',
  'task.created',
  'task.updated',
  'task.mentioned',
  'run.control\\_message.accepted',
];

/** The maximum number of holders of a role that are considered, before those who can't be notified are left out. */
const candidatesMax = 2000;

/**
 * Finds what is now waiting because of an event. Nothing is waiting if it has been decided, completed, reassigned or
 * acknowledged in the meantime.
 * @param onlyId the only candidate to find; null for all
 */
export async function findWaiting(
  db: Pool,
  event: JournalEvent,
  onlyId: string | null = null,
): Promise<Waiting | undefined> {
  const subject = subjectOf(event);
  if (subject === undefined) return undefined;
  const which = { tenantId: event.tenantId, entityIds: [subject.entityId], onlyId, candidatesMax };
  const row = await db.row(statementOf(subject.kind, which, subject));
  return row === undefined ? undefined : waitingOf(subject.kind, row);
}

/** An object that may be pending because of an event. */
export interface Subject {
  readonly kind: NotificationKind;
  readonly entityId: string;
}

function subjectOf({
  type,
  entityId,
  actorId,
  sequence,
  payload,
}: JournalEvent): (Subject & Cause) | undefined {
  const cause = { actorId, sequence, mentionedIds: null };
  switch (type) {
    case 'approval.requested':
      return { kind: 'decision.requested', entityId, ...cause };
    case 'task.created':
      return { kind: 'task.assigned', entityId, ...cause };
    case 'task.updated':
      return isAssignment(payload) ? { kind: 'task.assigned', entityId, ...cause } : undefined;
    case 'task.mentioned': {
      const { commentId, principalIds } = payload;
      return {
        kind: 'mention',
        entityId: typeof commentId === 'string' ? commentId : entityId,
        ...cause,
        mentionedIds: Array.isArray(principalIds) ? principalIds.map(String) : [],
      };
    }
    case 'run.control_message.accepted':
      return {
        kind: 'control_message.received',
        entityId: String(payload['controlMessageId']),
        ...cause,
      };
    default:
      return undefined;
  }
}

/** What else is known from the event. */
interface Cause extends Assignment {
  /** The principals that its text mentions for the first time; null for a digest, which has one recipient. */
  readonly mentionedIds: readonly string[] | null;
}

/** A digest stores neither the order of assignments nor their actors. */
const unknownCause: Cause = { actorId: null, sequence: null, mentionedIds: null };

function statementOf(kind: NotificationKind, which: Which, { mentionedIds, ...assignment }: Cause) {
  if (kind === 'mention') return findWaitingMentions(which, mentionedIds);
  if (kind === 'decision.requested') return findWaitingDecisions(which);
  if (kind === 'task.assigned') return findWaitingTasks(which, assignment);
  return findWaitingMessages(which);
}

/**
 * Selects from stored subjects those that still wait for a person who may see them, in their order. It needs one
 * statement per kind, and one per workspace.
 */
export async function selectWaitingFor(
  db: Pool,
  { tenantId, principalId }: { tenantId: string; principalId: string },
  subjects: readonly Subject[],
  settings: Settings,
): Promise<Notice[]> {
  const found = new Map<string, Notice>();
  const isSeen = new Map<string, boolean>();
  for (const [kind, ofKind] of Map.groupBy(subjects, (subject) => subject.kind)) {
    const entityIds = ofKind.map(({ entityId }) => entityId);
    const which = { tenantId, entityIds, onlyId: principalId, candidatesMax };
    for (const row of await db.rows(statementOf(kind, which, unknownCause))) {
      const waiting = waitingOf(kind, row);
      if (!waiting.candidateIds.includes(principalId) || waiting.exceptId === principalId) continue;
      const place = `${waiting.needs} ${waiting.workspaceId}`;
      if (!isSeen.has(place)) {
        const { recipients } = await findRecipientsOf(db, tenantId, waiting, settings);
        isSeen.set(place, recipients.length > 0);
      }
      if (isSeen.get(place) === true) found.set(`${kind} ${waiting.notice.entityId}`, waiting.notice);
    }
  }
  return subjects.flatMap(({ kind, entityId }) => found.get(`${kind} ${entityId}`) ?? []);
}

/**
 * People aren't notified of what they did themselves, except of decisions: an agent that works with somebody's token
 * requests decisions in that person's name.
 */
function waitingOf(kind: NotificationKind, row: WaitingRow): Waiting {
  const isDecision = kind === 'decision.requested';
  return {
    notice: {
      kind,
      entityId: row.entity_id,
      taskId: row.task_id,
      taskPublicId: row.task_public_id,
      taskTitle: row.task_title,
      actorName: row.actor_name,
      question: row.question,
    },
    candidateIds: row.candidates,
    needs: isDecision ? 'decisions' : 'tasks',
    exceptId: isDecision ? null : row.actor_id,
    workspaceId: row.workspace_id,
  };
}

function isAssignment({ changes }: JournalEvent['payload']): boolean {
  return (
    typeof changes === 'object' && changes !== null && typeof Reflect.get(changes, 'assigneeId') === 'string'
  );
}

export interface FoundRecipients {
  readonly recipients: readonly Recipient[];
  /** Whether there are further people who could be notified. */
  readonly hasMore: boolean;
}

/** The people to notify: those who may see the object and, for a decision, may decide it. */
export async function findRecipientsOf(
  db: Pool,
  tenantId: string,
  { candidateIds, exceptId, needs, workspaceId }: Waiting,
  settings: Settings,
): Promise<FoundRecipients> {
  const max = settings.CP_NOTIFICATIONS_RECIPIENTS_MAX;
  const ids = candidateIds.filter((id) => id !== exceptId);
  if (ids.length === 0) return { recipients: [], hasMore: false };
  // A decision point may grant what no binding shows.
  const needed = settings.CP_AUTHZ_MODE === 'policy' ? 'access' : needs;
  const found = await db.rows(
    findRecipients({ tenantId, ids, needs: needed, workspaceId, rowsMax: max + 1 }),
  );
  return { recipients: found.slice(0, max), hasMore: found.length > max };
}

/**
 * One person with their choices. @returns undefined for anybody else, and for a person who is disabled or has no access
 */
export async function findPerson(db: Pool, tenantId: string, id: string): Promise<Recipient | undefined> {
  return db.row(findRecipients({ tenantId, ids: [id], needs: 'access', workspaceId: null, rowsMax: 1 }));
}
