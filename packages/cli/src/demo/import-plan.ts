import type { Issue } from './backlog.ts';
import { backEdges, type Edge } from './cycles.ts';
import { needsApproval, specialtyOf } from './specialties.ts';

/** What an issue becomes: open work for the agents, or a task that the import completes or cancels. */
export type Fate = 'open' | 'done' | 'deleted';

export interface PlannedTask {
  readonly issueId: string;
  readonly fate: Fate;
  readonly issueType: string;
  /** Whether a person must approve it before an agent may take it. */
  readonly isGated: boolean;
  /** The body of POST /tasks without the assignee. */
  readonly body: {
    readonly title: string;
    readonly priority: 'critical' | 'high' | 'medium' | 'low';
    readonly customFields: { readonly issueId: string; readonly issueType: string };
    readonly typeKey?: string;
    readonly requirements?: { readonly capabilities: readonly string[] };
  };
}

export interface PlannedRelation {
  readonly from: string;
  readonly to: string;
  readonly type: 'depends_on' | 'parent' | 'related_to';
}

/** The number of dependencies that are left out, by reason. */
export interface Dropped {
  /** They point to an issue that the backlog doesn't have. */
  dangling: number;
  /** They would close a cycle, in which no task could ever start. */
  closingCycle: number;
  /** They wait for a deleted issue, which never gets done. */
  waitingForDeleted: number;
  /** They repeat another one or point to their own issue. */
  repeated: number;
}

export interface ImportPlan {
  readonly tasks: readonly PlannedTask[];
  readonly relations: readonly PlannedRelation[];
  readonly dropped: Dropped;
}

const titleCharactersMax = 500;
const priorityNames = ['critical', 'high', 'medium', 'low', 'low'] as const;

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
  const relations = withoutCycles(plannedRelations(issues, fates, dropped), dropped);
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
      priority: priorityNames[priority] ?? 'medium',
      customFields: { issueId: id, issueType: issue_type },
      ...specialtyOf(issue),
    },
  };
}

function fateOf(status: string): Fate {
  if (status === 'closed') return 'done';
  return status === 'tombstone' ? 'deleted' : 'open';
}

function plannedRelations(
  issues: readonly Issue[],
  fates: ReadonlyMap<string, Fate>,
  dropped: Dropped,
): PlannedRelation[] {
  const seen = new Set<string>();
  const relations: PlannedRelation[] = [];
  for (const { id, dependencies = [] } of issues)
    for (const { on, type } of dependencies) {
      const relation: PlannedRelation = { from: id, to: on, type: relationType(type) };
      const key = JSON.stringify(relation);
      const waitsForDeleted =
        relation.type === 'depends_on' && fates.get(on) === 'deleted' && fates.get(id) === 'open';
      if (!fates.has(on)) dropped.dangling += 1;
      else if (on === id || seen.has(key)) dropped.repeated += 1;
      else if (waitsForDeleted) dropped.waitingForDeleted += 1;
      else relations.push(relation);
      seen.add(key);
    }
  return relations;
}

function relationType(type: string): PlannedRelation['type'] {
  if (type === 'blocks') return 'depends_on';
  return type === 'parent-child' ? 'parent' : 'related_to';
}

function withoutCycles(relations: readonly PlannedRelation[], dropped: Dropped): PlannedRelation[] {
  const closing = new Set<Edge>(
    (['depends_on', 'parent'] as const).flatMap((kind) =>
      backEdges(relations.filter(({ type }) => type === kind)),
    ),
  );
  dropped.closingCycle = closing.size;
  return relations.filter((relation) => !closing.has(relation));
}

/** One line per reason; empty when nothing was left out. */
export function droppedLines({ dangling, closingCycle, waitingForDeleted, repeated }: Dropped): string[] {
  const reasons: [number, string][] = [
    [dangling, 'point to an issue that is not in the backlog'],
    [closingCycle, 'would close a cycle'],
    [waitingForDeleted, 'wait for a deleted issue'],
    [repeated, 'repeat another one or point to themselves'],
  ];
  return reasons
    .filter(([count]) => count > 0)
    .map(([count, reason]) => `${count} dependencies left out: they ${reason}.`);
}
