import type { Approval, ApprovalSubject } from './generated/coordination-types.ts';

/** A value that differs between two subjects. */
export interface SubjectChange {
  /**
   * From the root of the snapshot, as `['task', 'customFields', 'amount']`. Items of lists are numbered from 1, checks
   * have their key.
   */
  readonly path: readonly string[];
  /** Undefined if the value was added. */
  readonly before: unknown;
  /** Undefined if the value was removed. */
  readonly after: unknown;
}

/**
 * Returns the current subject of an approval. Show it to the decider and approve with its digest: the service rejects
 * the decision if the subject has changed since.
 * @example
 * const { id } = await baton.approvals.request({ task: task.id, assignedPrincipalId: personId, comment: 'May I?' });
 * const subject = presentSubject(await baton.approvals.get(id));
 * console.log(subject?.snapshot.task?.title, subject?.digest);
 * @returns undefined if it is too large to be shown
 */
export function presentSubject({
  subject,
  subjectChanged,
  current,
}: Pick<Approval, 'subject' | 'subjectChanged' | 'current'>): ApprovalSubject | undefined {
  return (subjectChanged ? current : subject) ?? undefined;
}

/**
 * Returns the differences between two subjects, value by value. Acceptance checks are compared by key, items of other
 * lists by position.
 * @example
 * const { id } = await baton.approvals.request({ task: task.id, assignedPrincipalId: personId, comment: 'May I?' });
 * const approval = await baton.approvals.get(id);
 * if (approval.subject && approval.current)
 *   for (const { path, before, after } of subjectChanges(approval.subject, approval.current))
 *     console.log(path.join('.'), before, after);
 */
export function subjectChanges(before: ApprovalSubject, after: ApprovalSubject): SubjectChange[] {
  const changes: SubjectChange[] = [];
  addChanges(before.snapshot, after.snapshot, [], changes);
  return changes;
}

/** Recursion is bounded: the service limits how deep its documents are. */
function addChanges(
  before: unknown,
  after: unknown,
  path: readonly string[],
  changes: SubjectChange[],
): void {
  if (isSame(before, after)) return;
  const [old, now] = [membersOf(before, path), membersOf(after, path)];
  const isComparable =
    old !== undefined && now !== undefined && Array.isArray(before) === Array.isArray(after);
  if (!isComparable) {
    changes.push({ path, before, after });
    return;
  }
  const names = new Set([...old.keys(), ...now.keys()]);
  const countBefore = changes.length;
  for (const name of names) addChanges(old.get(name), now.get(name), [...path, name], changes);
  // The members are equal and only their order differs.
  if (changes.length === countBefore) changes.push({ path, before, after });
}

/** The members of a value by name; undefined if it is compared as a whole. */
function membersOf(value: unknown, path: readonly string[]): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const isChecks = path.length === 2 && path[0] === 'task' && path[1] === 'acceptance';
  const names = value.map((item: unknown, index) =>
    isChecks ? String((item as { key?: unknown }).key) : String(index + 1),
  );
  // A repeated key would hide one of two checks.
  if (new Set(names).size < names.length) return undefined;
  return new Map(names.map((name, index) => [name, value[index]]));
}

/** Whether two JSON values are equal; the order of an object's members doesn't count. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index]))
    );
  const [old, now] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const names = Object.keys(old);
  return (
    names.length === Object.keys(now).length &&
    names.every((name) => Object.hasOwn(now, name) && isSame(old[name], now[name]))
  );
}
