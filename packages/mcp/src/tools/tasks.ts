import { z } from 'zod';
import { leaseId, limit, priority, shortText, taskRef } from '../inputs.ts';
import { listFromOthers, noteOmitted } from '../others-text.ts';
import { lines, tool } from '../tool.ts';
import { commentsText } from './comments-text.ts';
import { formText } from './process-form.ts';
import { taskLine, taskText } from './task-text.ts';

const get = tool({
  name: 'task_get',
  title: 'Read a task',
  description: 'A task with its comments, and with the reasons if it can not be taken.',
  toolset: 'tasks',
  permissions: ['tasks.read'],
  isReadOnly: true,
  input: z.strictObject({
    task: taskRef,
    descriptionFrom: z.int().min(0).max(1_000_000).default(0).describe('The offset in a long description.'),
  }),
  async run({ task: ref, descriptionFrom }, { baton, signal }) {
    const task = await baton.tasks.get(ref, { signal });
    const [{ claimable, reasons }, comments, form] = await Promise.all([
      baton.tasks.getClaimability(task.id, { signal }),
      commentsText(baton, task.id, signal),
      formText(baton, task, signal),
    ]);
    const isOpen = !task.systemStatusCategory.startsWith('terminal');
    return lines(
      claimable ? `${task.publicId} waits for somebody to take it.` : undefined,
      isOpen && !claimable
        ? `${task.publicId} can't be taken now: ${reasons.map(({ code }) => code).join(', ')}.`
        : undefined,
      taskText(task, descriptionFrom),
      form,
      comments,
    );
  },
});

const search = tool({
  name: 'task_search',
  title: 'Search tasks',
  description: 'Tasks by words, status or assignment, newest first.',
  toolset: 'tasks',
  permissions: ['tasks.read'],
  isReadOnly: true,
  input: z.strictObject({
    words: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .optional()
      .describe('Words that must all occur in the title or description; at most 10.'),
    state: z
      .enum(['backlog', 'active', 'blocked', 'terminal_success', 'terminal_cancelled'])
      .optional()
      .describe('The category of the status.'),
    type: shortText('The key of the task type.', 63).optional(),
    projectId: z.uuid().optional(),
    workspaceId: z.uuid().optional(),
    limit,
    cursor: z.string().min(1).max(2000).optional().describe('The cursor at the end of the previous page.'),
  }),
  async run({ words, state, type, projectId, workspaceId, limit: most, cursor }, { baton, signal }) {
    const { items, nextCursor } = await baton.tasks.list(
      {
        limit: most,
        ...(words !== undefined && { q: words }),
        ...(state !== undefined && { systemStatusCategory: state }),
        ...(type !== undefined && { typeKey: type }),
        ...(projectId !== undefined && { projectId, includeSubprojects: true }),
        ...(workspaceId !== undefined && { workspaceId, includeDescendants: true }),
        ...(cursor !== undefined && { cursor }),
      },
      { signal },
    );
    if (items.length === 0) return 'No task was found. Try fewer words, or task_create.';
    const { text, shown } = listFromOthers('a list of tasks', items.map(taskLine));
    return lines(
      nextCursor === null
        ? `${items.length} found.`
        : `${items.length} shown; for more: cursor ${nextCursor}`,
      noteOmitted(shown, items.length, `call again with limit ${shown}, and continue from its cursor`),
      text,
    );
  },
});

const create = tool({
  name: 'task_create',
  title: 'Create a task',
  description: 'Creates a task. Search first: it may already exist.',
  toolset: 'tasks',
  permissions: ['tasks.write'],
  input: z.strictObject({
    title: shortText('The title, in one line.', 500),
    description: z.string().max(50_000).default('').describe('All information that its assignee needs.'),
    priority: priority.default('medium'),
    type: shortText('The key of the task type.', 63).optional(),
    parent: taskRef.optional().describe('The parent task.'),
    workspaceId: z.uuid().optional(),
    assigneeId: z.uuid().optional().describe('The assignee. By default, any agent or person may take it.'),
  }),
  async run({ title, description, priority: urgency, type, parent, workspaceId, assigneeId }, call) {
    const task = await call.baton.tasks.create(
      {
        title,
        description,
        priority: urgency,
        ...(type !== undefined && { typeKey: type }),
        ...(parent !== undefined && { parentTask: parent }),
        ...(workspaceId !== undefined && { workspaceId }),
        ...(assigneeId !== undefined && { assigneeId }),
      },
      { signal: call.signal },
    );
    return `${task.publicId} was created (${task.systemStatusCategory}). Any caller of work_next may get it.`;
  },
});

const comment = tool({
  name: 'task_comment',
  title: 'Comment on a task',
  description: 'Adds a comment to a task, for people and agents.',
  toolset: 'tasks',
  permissions: ['tasks.write'],
  input: z.strictObject({
    task: taskRef,
    text: shortText('The comment.', 10_000),
    lease: leaseId
      .optional()
      .describe('Your lease, if you hold the task: the comment is then attached to your run.'),
  }),
  async run({ task: ref, text, lease: id }, { baton, workplace, signal }) {
    const lease = id === undefined ? undefined : workplace.find(id);
    if (lease !== undefined && ![lease.task.publicId, lease.task.id].includes(ref))
      throw new TypeError(`the lease is on ${lease.task.publicId}, not on ${ref}`);
    if (lease !== undefined) await lease.comment({ body: text, runId: lease.run.id }, { signal });
    else await baton.tasks.createComment(ref, { body: text }, { signal });
    return `Your comment on ${ref} is written.`;
  },
});

export const taskTools = [get, search, create, comment];
