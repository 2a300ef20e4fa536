import type { BacklogPlan, PlannedTask } from '@baton/demo/backlog-plan';
import { chooseSpecialty, needsApproval } from '@baton/demo/specialties';
import { type Issue, readFate, readPriority, relationsIn } from '../import/forms/beads-lines.ts';
import { type Dropped, describeDropped, keepRelations } from '../import/relations.ts';

const titleCharactersMax = 500;

/**
 * Plans the import of a backlog. Closed issues become done tasks, deleted ones (`tombstone`) cancelled tasks, all
 * others open tasks. `blocks` becomes `depends_on`, `parent-child` becomes `parent`, any other dependency `related_to`.
 * @param reopen treats every issue as open, to process the whole backlog again
 */
export function planImport(
  issues: readonly Issue[],
  reopen = false,
): BacklogPlan & { readonly dropped: Dropped } {
  let open = 0;
  const tasks = issues.map((issue) => {
    const task = planTask(issue, reopen);
    if (task.fate === 'open') open += 1;
    return { ...task, isGated: task.fate === 'open' && needsApproval(open) };
  });
  const fates = new Map(tasks.map(({ issueId, fate }) => [issueId, fate]));
  const dropped: Dropped = { dangling: 0, closingCycle: 0, waitingForDeleted: 0, repeated: 0 };
  const relations = keepRelations(relationsIn(issues), fates, dropped);
  return { tasks, relations, dropped, droppedLines: describeDropped(dropped) };
}

function planTask(issue: Issue, reopen: boolean): Omit<PlannedTask, 'isGated'> {
  const { id, title, status, priority, issue_type } = issue;
  return {
    issueId: id,
    fate: reopen ? 'open' : readFate(status),
    issueType: issue_type,
    body: {
      title: title.trim().slice(0, titleCharactersMax) || id,
      priority: readPriority(priority),
      customFields: { issueId: id, issueType: issue_type },
      ...chooseSpecialty(issue),
    },
  };
}
