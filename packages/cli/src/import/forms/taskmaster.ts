import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { PlainError } from '../../plain-error.ts';
import { withInheritedWaits } from '../inherited-waits.ts';
import { parsedJson, readingBounds, readSourceText, visible } from '../read-source.ts';
import { LeftOut, type Link, namesIn, omitEmpty, type Source, type SourceItem, textIn } from '../source.ts';
import { cut, storable } from '../storable-text.ts';
import { priorityIn, readStatus, type Words } from '../words.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the tasks of claude-task-master: `tasks.json`, its folder, or a project with `.taskmaster/tasks/tasks.json`.
 * @param project the namespace of the ids; the name of the project's folder by default
 * @throws PlainError for other files, and if no task in it could be read
 */
export async function readTaskmaster(path: string, words: Words, project?: string): Promise<Source> {
  const file = path === '-' ? path : await fileOf(path);
  const name = project ?? projectOf(file);
  const place = path === '-' ? 'standard input' : visible(file);
  return readTaskmasterTasks(await readSourceText(file), place, words, name);
}

const places = ['.taskmaster/tasks/tasks.json', 'tasks/tasks.json', 'tasks.json'] as const;

async function fileOf(path: string): Promise<string> {
  const isFolder = (await lstat(path).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder) return path;
  for (const one of places) {
    const file = join(path, one);
    if ((await lstat(file).catch(() => undefined))?.isFile() === true) return file;
  }
  throw new PlainError(`${visible(path)} contains no claude-task-master tasks: it has no ${places[0]}.`);
}

/** The folder around `.taskmaster/tasks`, or around `tasks`. */
function projectOf(file: string): string {
  if (file === '-') return 'tasks';
  const folders = dirname(resolve(file)).split('/');
  while (['tasks', '.taskmaster'].includes(folders.at(-1) ?? '')) folders.pop();
  return basename(folders.at(-1) ?? '') || 'tasks';
}

/** @param project the namespace of the ids */
export function readTaskmasterTasks(text: string, name: string, words: Words, project: string): Source {
  const leftOut = new LeftOut();
  const reading: Reading = { words, project, leftOut, items: new Map() };
  for (const { tag, tasks } of tagsIn(parsedJson(text, name), name, leftOut))
    tasks.forEach((task, at) => readTask(task, { tag, place: `${tag}, task ${at + 1}` }, reading));
  const read = [...reading.items.values()];
  leftOut.requireReadable(read, name);
  if (read.length > readingBounds.itemsMax)
    throw new PlainError(`${name} has more than ${readingBounds.itemsMax} tasks.`);
  const items = withInheritedWaits(
    read.map((item) => linked(item, reading)),
    leftOut,
  );
  return { system: 'taskmaster', type: 'task', items, leftOut };
}

/** Lists of tasks by their tag: `{master: {tasks}, …}`; files of older versions have one list without a tag. */
function tagsIn(document: unknown, name: string, leftOut: LeftOut): { tag: string; tasks: unknown[] }[] {
  const fields = objectIn(document);
  if (Array.isArray(fields['tasks'])) return [{ tag: 'master', tasks: fields['tasks'] as unknown[] }];
  const tags = Object.entries(fields).flatMap(([tag, value]) => {
    const { tasks } = objectIn(value);
    if (Array.isArray(tasks)) return [{ tag, tasks: tasks as unknown[] }];
    leftOut.add('is not a list of tasks', tag);
    return [];
  });
  if (tags.length === 0)
    throw new PlainError(
      `${name} contains no claude-task-master tasks: it needs {"master": {"tasks": […]}}.`,
    );
  return tags;
}

interface UnlinkedTask extends SourceItem {
  /** The tasks in `dependencies`, and the parent task. */
  readonly dependencies: readonly string[];
  readonly parentId: string | undefined;
  readonly tag: string;
}

interface Reading {
  readonly words: Words;
  readonly project: string;
  readonly leftOut: LeftOut;
  readonly items: Map<string, UnlinkedTask>;
}

interface Where {
  readonly tag: string;
  readonly place: string;
  /** The id of the task that it belongs to, without its tag. */
  readonly parentId?: string;
}

function readTask(value: unknown, where: Where, reading: Reading): void {
  const { leftOut, items, words } = reading;
  const fields = objectIn(value);
  const [own, title] = [namesIn(fields['id'])[0], textIn(fields['title'])];
  if (own === undefined || own === '' || title === undefined) {
    leftOut.addUnreadable('is not a task: it needs id and title', where.place);
    return;
  }
  // Some versions write the whole id of a subtask, `4.2`.
  const isWhole = where.parentId === undefined || own.startsWith(`${where.parentId}.`);
  const ownId = isWhole ? own : `${where.parentId}.${own}`;
  const id = idOf(reading, where.tag, ownId);
  if (items.has(id)) {
    leftOut.add('has the same id as another task', `${where.place} (${ownId})`);
    return;
  }
  const status = textIn(fields['status']) ?? 'pending';
  const sourceStatus = readStatus(status, words);
  const isOver = sourceStatus === 'done' || sourceStatus === 'cancelled';
  const strategy = textIn(storable(textIn(fields['testStrategy']) ?? ''));
  items.set(id, {
    id,
    place: where.place,
    title,
    description: descriptionOf(fields),
    status: sourceStatus,
    priority: priorityIn(textIn(fields['priority']) ?? '') ?? parentPriority(where, reading),
    // A finished item gets no check: it has already been checked in its tracker, or never will be.
    ...(strategy !== undefined && !isOver && { acceptance: [checkOf(strategy)] }),
    customFields: omitEmpty({
      labels: where.tag === 'master' ? [] : [where.tag],
      imported: { ...othersOf(fields, id, leftOut), ...omitEmpty({ id: ownId, tag: where.tag, status }) },
    }),
    links: [],
    comments: [],
    dependencies: namesIn(fields['dependencies']),
    parentId: where.parentId,
    tag: where.tag,
  });
  const subtasks = Array.isArray(fields['subtasks']) ? (fields['subtasks'] as unknown[]) : [];
  // The product has no subtasks of subtasks, but a file may contain up to 64 levels.
  subtasks.forEach((subtask, at) =>
    readTask(
      subtask,
      { tag: where.tag, place: `${where.place}, subtask ${at + 1}`, parentId: ownId },
      reading,
    ),
  );
}

const idOf = ({ project }: Reading, tag: string, id: string): string => `${project}/${tag}/${id}`;

/** A subtask is as urgent as its task. */
function parentPriority({ parentId, tag }: Where, reading: Reading): SourceItem['priority'] {
  return parentId === undefined
    ? 'medium'
    : (reading.items.get(idOf(reading, tag, parentId))?.priority ?? 'medium');
}

const strategyCharactersMax = 2000;

/** A check in which a person decides whether the test strategy was followed. */
function checkOf(strategy: string): { key: string; kind: 'human'; description: string } {
  const description = cut(strategy.trim(), strategyCharactersMax);
  return { key: 'test-strategy', kind: 'human', description };
}

const sections = [
  ['details', 'Details'],
  ['testStrategy', 'Test strategy'],
  ['acceptanceCriteria', 'Acceptance criteria'],
] as const;

function descriptionOf(fields: Fields): string {
  const own = textIn(fields['description']);
  const more = sections.flatMap(([name, title]) => {
    const text = textIn(fields[name]);
    return text === undefined ? [] : [`## ${title}\n\n${text.trim()}`];
  });
  return [...(own === undefined ? [] : [own.trim()]), ...more].join('\n\n');
}

const usedFields: ReadonlySet<string> = new Set([
  ...(
    'id title description status priority dependencies subtasks parentTaskId parentId ' +
    'updatedAt previousStatus'
  ).split(' '),
  ...sections.map(([name]) => name),
]);

/** Other fields with a single value, by their names in the source; the report lists the remaining ones. */
function othersOf(fields: Fields, id: string, leftOut: LeftOut): Record<string, unknown> {
  const others = Object.entries(fields).filter(
    ([name, value]) =>
      !usedFields.has(name) && value !== null && !(Array.isArray(value) && value.length === 0),
  );
  const isPlain = (value: unknown) => typeof value !== 'object';
  for (const [name, value] of others)
    if (!isPlain(value)) leftOut.add(`field ${name.slice(0, 40)} is left out`, id);
  return omitEmpty(Object.fromEntries(others.filter(([, value]) => isPlain(value))));
}

/** Adds its relations, now that all tasks are known. */
function linked({ dependencies, parentId, tag, ...item }: UnlinkedTask, reading: Reading): SourceItem {
  const links = dependencies.map((ref): Link => {
    // A number in a subtask refers to another subtask of the same task, if it exists.
    const sibling = idOf(reading, tag, `${parentId}.${ref}`);
    const isSibling = parentId !== undefined && reading.items.has(sibling);
    return { to: isSibling ? sibling : idOf(reading, tag, ref), type: 'depends_on' };
  });
  const parent: Link[] = parentId === undefined ? [] : [{ to: idOf(reading, tag, parentId), type: 'parent' }];
  return { ...item, links: [...parent, ...links] };
}

const objectIn = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}) as Fields;
