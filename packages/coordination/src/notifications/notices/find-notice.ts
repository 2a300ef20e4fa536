import type { Pool } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { NotificationKind } from '../kinds.ts';
import type { Settings } from '../settings.ts';
import type { Recipient, Waiting } from './notice.ts';
import {
  type Assignment,
  findRecipients,
  findWaitingDecision,
  findWaitingMention,
  findWaitingMessage,
  findWaitingTask,
  type WaitingRow,
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
 */
export async function findWaiting(db: Pool, event: JournalEvent): Promise<Waiting | undefined> {
  const { type, tenantId, entityId, actorId, sequence, payload } = event;
  switch (type) {
    case 'approval.requested':
      return findWaitingOf(db, tenantId, { kind: 'decision.requested', entityId });
    case 'task.created':
    case 'task.updated':
      return type === 'task.created' || isAssignment(payload)
        ? findWaitingOf(db, tenantId, { kind: 'task.assigned', entityId, actorId, sequence })
        : undefined;
    case 'task.mentioned': {
      const { commentId, principalIds } = payload;
      return findWaitingOf(db, tenantId, {
        kind: 'mention',
        entityId: typeof commentId === 'string' ? commentId : entityId,
        mentionedIds: Array.isArray(principalIds) ? principalIds.map(String) : [],
      });
    }
    case 'run.control_message.accepted': {
      const messageId = String(payload['controlMessageId']);
      return findWaitingOf(db, tenantId, { kind: 'control_message.received', entityId: messageId });
    }
    default:
      return undefined;
  }
}

interface Subject extends Partial<Assignment> {
  readonly kind: NotificationKind;
  readonly entityId: string;
  /** Of a text's mentions, only those of these principals. */
  readonly mentionedIds?: readonly string[];
}

/** Finds what is still waiting, for a notice that was stored for a digest. */
export async function findWaitingOf(
  db: Pool,
  tenantId: string,
  subject: Subject,
): Promise<Waiting | undefined> {
  const row = await db.row(statementOf(tenantId, subject));
  return row === undefined ? undefined : waitingOf(subject.kind, row);
}

function statementOf(
  tenantId: string,
  { kind, entityId, actorId = null, sequence = null, mentionedIds }: Subject,
) {
  if (kind === 'mention') return findWaitingMention(tenantId, entityId, mentionedIds ?? []);
  if (kind === 'decision.requested') return findWaitingDecision(tenantId, entityId, candidatesMax);
  if (kind === 'task.assigned')
    return findWaitingTask(tenantId, entityId, { actorId, sequence }, candidatesMax);
  return findWaitingMessage(tenantId, entityId);
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
