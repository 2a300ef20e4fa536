import type { NewTask } from '@baton/sdk';

export interface PlannedTask {
  readonly issueId: string;
  readonly fate: 'open' | 'done' | 'deleted';
  readonly issueType: string;
  /** Whether a person must approve it before an agent may take it. */
  readonly isGated: boolean;
  /** What the task is made of, without the assignee. */
  readonly body: Pick<NewTask, 'typeKey' | 'requirements'> & {
    readonly title: string;
    readonly priority: 'critical' | 'high' | 'medium' | 'low';
    readonly customFields: { readonly issueId: string; readonly issueType: string };
  };
}

export interface PlannedRelation {
  readonly from: string;
  readonly to: string;
  readonly type: 'depends_on' | 'parent' | 'related_to' | 'blocks' | 'spawned_by';
}

/** The backlog that the agents drain. */
export interface BacklogPlan {
  readonly tasks: readonly PlannedTask[];
  readonly relations: readonly PlannedRelation[];
  /** The number of relations that were left out, by reason, and the same as lines of text. */
  readonly dropped: object;
  readonly droppedLines: readonly string[];
}
