import { lstat, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { PlainError } from '../../plain-error.ts';
import { visible } from '../read-source.ts';
import { LeftOut, type Link, type Source, type SourceItem, type SourceStatus } from '../source.ts';
import type { Words } from '../words.ts';
import { type BacklogMdConfig, readBacklogMdConfig } from './backlog-md-config.ts';
import { backlogMdIds } from './backlog-md-ids.ts';
import { type BacklogMdTask, readBacklogMdTask } from './backlog-md-task.ts';

/** Folders of Backlog.md, and the default status of the tasks in them. */
const folders: readonly (readonly [path: string, status: SourceStatus | undefined])[] = [
  ['tasks', undefined],
  ['completed', 'done'],
  ['archive/tasks', 'cancelled'],
  ['drafts', 'blocked'],
];
const read = new Set(folders.map(([path]) => path));

const bounds = { filesMax: 20_000, fileBytesMax: 1024 * 1024, otherFoldersMax: 1000 } as const;

/**
 * Reads a folder of Backlog.md: `backlog`, or the one around it.
 * @param project the namespace of the ids; the name of the folder around `backlog` by default
 * @throws PlainError for a folder without tasks, and beyond the limits
 */
export async function readBacklogMd(path: string, words: Words, project?: string): Promise<Source> {
  const root = await rootOf(path);
  const name = project ?? basename(dirname(resolve(root)));
  const leftOut = new LeftOut();
  const config = await readBacklogMdConfig(root, leftOut);
  const tasks: BacklogMdTask[] = [];
  let files = 0;
  for (const [folder, folderStatus] of folders)
    for (const file of await filesIn(root, folder, leftOut)) {
      const place = `${folder}/${visible(basename(file))}`;
      const text = await readText(file);
      if (text === undefined)
        leftOut.addUnreadable(`is larger than ${bounds.fileBytesMax / 1024} KiB`, place);
      else {
        const task = readBacklogMdTask(text, place, { words, config, folderStatus }, leftOut);
        if (task !== undefined) tasks.push(task);
      }
      files += 1;
      if (files > bounds.filesMax)
        throw new PlainError(`${visible(path)} holds more than ${bounds.filesMax} files.`);
    }
  const items = itemsOf(tasks, name, config, leftOut);
  leftOut.requireReadable(items, visible(path));
  if (items.length === 0)
    throw new PlainError(
      `${visible(path)} contains no Backlog.md tasks: name the backlog folder, which contains a tasks folder.`,
    );
  await nameOtherFolders(root, leftOut);
  return { system: 'backlog-md', type: 'task', items, leftOut };
}

async function rootOf(path: string): Promise<string> {
  for (const root of [path, join(path, 'backlog'), join(path, '.backlog')])
    for (const [folder] of folders) if (await isFolder(join(root, folder))) return root;
  throw new PlainError(`${visible(path)} is not a Backlog.md folder: it has no tasks folder.`);
}

/** A link to a folder is ignored, because it may point outside of the given folder. */
async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() === true;
}

async function filesIn(root: string, folder: string, leftOut: LeftOut): Promise<string[]> {
  if (!(await isFolder(join(root, folder)))) return [];
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const place = `${folder}/${visible(entry.name)}`;
    if (entry.name.startsWith('.')) continue;
    if (entry.isDirectory()) leftOut.add('is a subfolder of tasks, which Backlog.md does not read', place);
    else if (!entry.name.endsWith('.md')) continue;
    else if (entry.isFile()) found.push(join(root, folder, entry.name));
    else leftOut.add('is a link or not a regular file', place);
  }
  return found;
}

/** Undefined for a file that is too large. */
async function readText(path: string): Promise<string | undefined> {
  const { size } = await lstat(path);
  return size > bounds.fileBytesMax ? undefined : readFile(path, 'utf8');
}

/** Documents, decisions, milestones and archived drafts are not tasks. */
async function nameOtherFolders(root: string, leftOut: LeftOut): Promise<void> {
  for (const around of ['', 'archive']) {
    if (!(await isFolder(join(root, around)))) continue;
    const entries = await readdir(join(root, around), { withFileTypes: true });
    for (const { name } of entries.filter((entry) => entry.isDirectory()).slice(0, bounds.otherFoldersMax)) {
      const path = around === '' ? name : `${around}/${name}`;
      const isPart = read.has(path) || path === 'archive' || name.startsWith('.');
      if (!isPart) leftOut.add('is a folder that contains no tasks', visible(path));
    }
  }
}

function itemsOf(
  tasks: readonly BacklogMdTask[],
  name: string,
  { prefix }: BacklogMdConfig,
  leftOut: LeftOut,
): SourceItem[] {
  const own = new Set<string>();
  const kept = tasks.filter(({ id, place }) => {
    const isNew = !own.has(id.toLowerCase());
    if (!isNew) leftOut.add('has the same id as another file', place);
    own.add(id.toLowerCase());
    return isNew;
  });
  const ids = backlogMdIds([...own], prefix);
  const idOf = (id: string) => `${name}/${id.toLowerCase()}`;
  const linkTo = (task: BacklogMdTask, ref: string, type: Link['type']): Link[] => {
    const found = ids.find(ref);
    if (found.length <= 1) return [{ to: idOf(found[0] ?? ref), type }];
    leftOut.add('relation refers to an id that several tasks have', `${task.id} → ${ref}`);
    return [];
  };
  const parents = new Map(
    kept.flatMap((task) => task.subtasks.flatMap((ref) => ids.find(ref).map((id) => [id, task.id] as const))),
  );
  return kept.map((task) => {
    const parent = task.parent ?? parents.get(task.id.toLowerCase());
    return {
      ...task.item,
      id: idOf(task.id),
      links: [
        ...(parent === undefined ? [] : linkTo(task, parent, 'parent')),
        ...task.dependencies.flatMap((ref) => linkTo(task, ref, 'depends_on')),
      ],
    };
  });
}
