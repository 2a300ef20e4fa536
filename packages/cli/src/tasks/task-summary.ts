import { type BatonClient, BatonError, type Task, type TaskComment } from '@baton/sdk';
import { answerLines, formLines, readTaskForm, type TaskForm } from './task-form.ts';
import { whyLines } from './why-lines.ts';

/** How many comments are shown without --comments. */
export const shownComments = 3;
const shownArtifacts = 5;
const outputCharactersMax = 2_000;
const namesMax = 50;

/** The word for no assignee: `task view` prints it, and `--assignee` accepts it. */
export const unassigned = 'none';

/** The data shown with the task; undefined if the caller may not read it. */
export interface TaskSurroundings {
  readonly claimability: Awaited<ReturnType<BatonClient['tasks']['getClaimability']>> | undefined;
  readonly output: unknown;
  readonly artifacts: readonly { readonly id: string; readonly name: string; readonly type: string }[];
  readonly workspace: string | undefined;
  readonly form: TaskForm | undefined;
  readonly nameOf: (principalId: string) => string;
}

export async function readSurroundings(
  baton: BatonClient,
  task: Task,
  authors: readonly string[],
): Promise<TaskSurroundings> {
  const [claimability, runs, artifacts, workspace, form] = await Promise.all([
    permitted(baton.tasks.getClaimability(task.id)),
    permitted(baton.runs.list({ taskId: task.id, status: 'succeeded', limit: 1 })),
    permitted(baton.artifacts.list({ taskId: task.id, limit: shownArtifacts })),
    task.workspaceId === null ? undefined : permitted(baton.workspaces.get(task.workspaceId)),
    permitted(readTaskForm(baton, task)),
  ]);
  const people = [task.assigneeId, task.ownerId, ...authors, ...holdersIn(claimability)];
  return {
    claimability,
    output: runs?.items[0]?.output,
    artifacts: artifacts?.items ?? [],
    workspace: workspace?.slug ?? task.workspaceId ?? undefined,
    form,
    nameOf: await readNames(baton, people),
  };
}

/** The names of those of these principals that the caller may read. */
export async function readNames(
  baton: BatonClient,
  ids: readonly (string | null)[],
): Promise<(principalId: string) => string> {
  const known = new Set(ids.filter((id) => id !== null));
  const names = new Map<string, string>();
  await Promise.all(
    [...known].slice(0, namesMax).map(async (id) => {
      const principal = await permitted(baton.principals.get(id));
      if (principal !== undefined) names.set(id, principal.displayName);
    }),
  );
  return (id) => names.get(id) ?? id;
}

/** The principals in the reasons. */
export function holdersIn(claimability: TaskSurroundings['claimability']): string[] {
  return (claimability?.reasons ?? []).flatMap((reason) => {
    const { holderId, addressee } = reason as {
      holderId?: string;
      addressee?: { principalId?: string } | null;
    };
    return [holderId, addressee?.principalId].filter((id) => id !== undefined);
  });
}

async function permitted<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof BatonError && [403, 404].includes(error.status)) return undefined;
    throw error;
  }
}

/** A task for a person: title, state, assignee, result and latest comments. */
export function summaryLines(
  task: Task,
  around: TaskSurroundings,
  comments: readonly TaskComment[],
  older: number,
): string[] {
  const { nameOf } = around;
  const rows: [label: string, text: string | null | undefined][] = [
    ['task', task.publicId],
    ['title', task.title],
    ['status', task.status],
    ['priority', task.priority],
    ['type', task.typeKey],
    ['assignee', task.assigneeId === null ? unassigned : nameOf(task.assigneeId)],
    ['owner', task.ownerId === null ? null : nameOf(task.ownerId)],
    ['holder', holderText(around)],
    ['workspace', around.workspace],
    ['start', task.startDate],
    ['due', task.dueDate],
    ['labels', labelsOf(task).join(', ')],
    ['created', task.createdAt],
  ];
  const shown = rows.filter(([, text]) => text !== null && text !== undefined && text !== '');
  const width = Math.max(...shown.map(([label]) => label.length));
  return [
    ...shown.map(([label, text]) => `${label.padEnd(width)}  ${text}`),
    ...section('description', task.description.split('\n')),
    ...formSection(task, around),
    ...section('result', resultLines(around)),
    ...section('why it is not available', standstillLines(task, around)),
    ...section(
      older + comments.length > shownComments ? `last comments (--comments shows all)` : 'comments',
      comments.slice(-shownComments).flatMap((comment) => commentLines(comment, nameOf)),
    ),
  ];
}

function holderText({ claimability, nameOf }: TaskSurroundings): string | undefined {
  const held = claimability?.reasons.find(({ code }) => code === 'task_already_claimed') as
    | { holderId?: string; expiresAt?: string }
    | undefined;
  return held?.holderId === undefined ? undefined : `${nameOf(held.holderId)}, until ${held.expiresAt}`;
}

function labelsOf({ customFields }: Task): string[] {
  const { labels } = customFields as { labels?: unknown };
  return Array.isArray(labels) ? labels.map(String) : [];
}

function resultLines({ output, artifacts }: TaskSurroundings): string[] {
  const text = output === undefined || output === null ? '' : JSON.stringify(output);
  return [
    ...(text === '' || text === '{}' ? [] : [shortened(text)]),
    ...artifacts.map(({ id, name, type }) => `${name} (${type}), artifact ${id}`),
  ];
}

const shortened = (text: string) =>
  text.length > outputCharactersMax ? `${text.slice(0, outputCharactersMax)}…` : text;

/** Empty for a task that has ended or is held: it needs no explanation. */
function standstillLines(task: Task, { claimability, nameOf }: TaskSurroundings): string[] {
  if (claimability === undefined || claimability.claimable) return [];
  if (isOver(task)) return [];
  const reasons = claimability.reasons.filter(({ code }) => code !== 'task_already_claimed');
  return reasons.length === 0 ? [] : whyLines(task.publicId, { claimable: false, reasons }, nameOf).slice(1);
}

/** The fields of the form or, for an ended task, the answers. */
function formSection(task: Task, { form }: TaskSurroundings): string[] {
  if (form === undefined) return [];
  return isOver(task)
    ? section('answers to the form of its process step', answerLines(form))
    : section('form of its process step', formLines(form));
}

const isOver = ({ systemStatusCategory }: Task) => systemStatusCategory.startsWith('terminal');

function section(heading: string, lines: readonly string[]): string[] {
  const empty = lines.every((line) => line.trim() === '');
  return empty ? [] : ['', `${heading}:`, ...lines.map((line) => `  ${line}`)];
}

/** A comment, its author and its text. */
export function commentLines(
  { authorPrincipalId, createdAt, body }: TaskComment,
  nameOf: (principalId: string) => string,
): string[] {
  return [`${createdAt}  ${nameOf(authorPrincipalId)}`, ...body.split('\n').map((line) => `  ${line}`)];
}
