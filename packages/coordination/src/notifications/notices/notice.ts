import type { NotificationKind, StoredModes } from '../kinds.ts';

/** What is waiting for somebody. Its texts come from outside. */
export interface Notice {
  readonly kind: NotificationKind;
  /** The approval, the task or the control message; for a mention the comment, or the task for its description. */
  readonly entityId: string;
  /** The id of the task; null for a decision that isn't about a task. */
  readonly taskId: string | null;
  readonly taskPublicId: string | null;
  readonly taskTitle: string | null;
  /** The requester, or the principal that assigned or sent it. */
  readonly actorName: string | null;
  /** The question of a decision, or the comment that mentions somebody; null for other notices. */
  readonly question: string | null;
}

/** To decide approvals, or to read tasks; `access` if an external decision point decides that. */
export type Need = 'decisions' | 'tasks' | 'access';

/** Those for whom something is waiting, before it is known which of them are notified. */
export interface Waiting {
  readonly notice: Notice;
  readonly candidateIds: readonly string[];
  /** What people must be allowed to do, besides having access at all. */
  readonly needs: Need;
  /** The principal who caused it, and isn't notified of it; null to notify everybody. */
  readonly exceptId: string | null;
  /** The workspace of the task, or of the decision: people who can't see it aren't notified. */
  readonly workspaceId: string | null;
}

/** A person to notify, with their choices. */
export interface Recipient {
  id: string;
  display_name: string;
  email: string | null;
  profile_email: string | null;
  modes: StoredModes;
  digest_interval_seconds: number;
  webhook_id: string | null;
  webhook_host: string | null;
  webhook_secret: string | null;
}
