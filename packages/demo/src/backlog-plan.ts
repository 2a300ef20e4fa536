import type { NewTask } from '@baton/sdk';

export interface PlannedTask {
  readonly issueId: string;
  readonly fate: 'open' | 'done' | 'deleted';
  readonly issueType: string;
  /** Whether a person must approve the task before an agent may take it. */
  readonly isGated: boolean;
  /** The task to create, without the assignee. */
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
  /** The number of skipped relations, by reason. */
  readonly dropped: object;
  /** The numbers of skipped relations as lines of text. */
  readonly droppedLines: readonly string[];
}
