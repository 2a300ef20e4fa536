import type { Context } from '../../context.ts';
import type { TaskOfSubject } from '../../gates/subject.ts';
import type { Task } from '../task.ts';
import { lookupOf } from './lookup.ts';

/** A task as the subject of an approval. */
export function subjectTaskOf(context: Context, task: Task): TaskOfSubject {
  return { ...task, lookup: lookupOf(context, task) };
}
