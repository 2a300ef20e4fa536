import type { NewTask } from '@baton/sdk';
import { fateOf, type Issue, priorityOf, relationsIn } from '../import/forms/beads-lines.ts';
import { type Dropped, type Fate, keptRelations, type PlannedRelation } from '../import/relations.ts';
import { needsApproval, specialtyOf } from './specialties.ts';

export interface PlannedTask {
  readonly issueId: string;
  readonly fate: Fate;
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

export interface ImportPlan {
  readonly tasks: readonly PlannedTask[];
  readonly relations: readonly PlannedRelation[];
  readonly dropped: Dropped;
}

const titleCharactersMax = 500;

/**
 * Plans the import of a backlog. Closed issues become done tasks, deleted ones (`tombstone`) cancelled tasks, all others
 * open tasks. `blocks` becomes `depends_on`, `parent-child` becomes `parent`, any other dependency `related_to`.
 * @param reopen treats every issue as open, to do the whole backlog again
 */
export function planImport(issues: readonly Issue[], reopen = false): ImportPlan {
  let open = 0;
  const tasks = issues.map((issue) => {
    const task = planTask(issue, reopen);
    if (task.fate === 'open') open += 1;
    return { ...task, isGated: task.fate === 'open' && needsApproval(open) };
  });
  const fates = new Map(tasks.map(({ issueId, fate }) => [issueId, fate]));
  const dropped: Dropped = { dangling: 0, closingCycle: 0, waitingForDeleted: 0, repeated: 0 };
  const relations = keptRelations(relationsIn(issues), fates, dropped);
  return { tasks, relations, dropped };
}

function planTask(issue: Issue, reopen: boolean): Omit<PlannedTask, 'isGated'> {
  const { id, title, status, priority, issue_type } = issue;
  return {
    issueId: id,
    fate: reopen ? 'open' : fateOf(status),
    issueType: issue_type,
    body: {
      title: title.trim().slice(0, titleCharactersMax) || id,
      priority: priorityOf(priority),
      customFields: { issueId: id, issueType: issue_type },
      ...specialtyOf(issue),
    },
  };
}
