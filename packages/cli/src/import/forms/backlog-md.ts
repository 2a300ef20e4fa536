import { lstat, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readDocuments, TextFault } from '../../apply/yaml-documents.ts';
import { PlainError } from '../../plain-error.ts';
import { visible } from '../reading.ts';
import {
  filled,
  LeftOut,
  type Link,
  namesIn,
  priorityIn,
  type Source,
  type SourceItem,
  type SourceStatus,
  statusOf,
  textIn,
  type Words,
} from '../source.ts';

/** Folders of Backlog.md, and what a task in them is when its own status says nothing else. */
const folders: readonly (readonly [path: string, status: SourceStatus | undefined])[] = [
  ['tasks', undefined],
  ['completed', 'done'],
  ['archive/tasks', 'cancelled'],
  ['drafts', 'backlog'],
];

const bounds = { filesMax: 20_000, fileBytesMax: 1024 * 1024, frontMatterCharactersMax: 64 * 1024 } as const;

/**
 * Reads a folder of Backlog.md: `backlog`, or the one around it.
 * @param project what the ids belong to; the name of the folder around `backlog` without it
 * @throws PlainError for a folder without tasks, and past the bounds
 */
export async function readBacklogMd(path: string, words: Words, project?: string): Promise<Source> {
  const root = await rootOf(path);
  const name = project ?? basename(dirname(resolve(root)));
  const leftOut = new LeftOut();
  const items: SourceItem[] = [];
  const seen = new Set<string>();
  for (const [folder, status] of folders)
    for (const file of await filesIn(join(root, folder), leftOut)) {
      const item = itemIn(await textOf(file), visible(file), { words, name, folderStatus: status });
      if (item === undefined) leftOut.add('has no front matter with id and title', visible(basename(file)));
      else if (seen.has(item.id)) leftOut.add('has an id that another file has too', visible(basename(file)));
      else {
        items.push(item);
        seen.add(item.id);
      }
      if (items.length > bounds.filesMax)
        throw new PlainError(`${visible(path)} holds more than ${bounds.filesMax} tasks.`);
    }
  if (items.length === 0)
    throw new PlainError(
      `${visible(path)} holds no task of Backlog.md: name the folder backlog, with tasks in it.`,
    );
  return { system: 'backlog-md', type: 'task', items, leftOut };
}

async function rootOf(path: string): Promise<string> {
  for (const root of [path, join(path, 'backlog'), join(path, '.backlog')])
    for (const [folder] of folders) if (await isFolder(join(root, folder))) return root;
  throw new PlainError(`${visible(path)} is no folder of Backlog.md: there is no folder tasks in it.`);
}

/** A link to a folder is none: it may lead out of what was named. */
async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() === true;
}

async function filesIn(folder: string, leftOut: LeftOut): Promise<string[]> {
  if (!(await isFolder(folder))) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!entry.name.endsWith('.md') || entry.name.startsWith('.')) continue;
    if (entry.isFile()) found.push(join(folder, entry.name));
    else leftOut.add('is a link or no plain file', visible(entry.name));
  }
  return found;
}

async function textOf(path: string): Promise<string> {
  const { size } = await lstat(path);
  if (size > bounds.fileBytesMax)
    throw new PlainError(`${visible(path)} is larger than ${bounds.fileBytesMax / 1024} KiB.`);
  return readFile(path, 'utf8');
}

interface Surroundings {
  readonly words: Words;
  readonly name: string;
  readonly folderStatus: SourceStatus | undefined;
}

function itemIn(
  text: string,
  place: string,
  { words, name, folderStatus }: Surroundings,
): SourceItem | undefined {
  const [, front, body = ''] = /^\uFEFF?---\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n([^]*))?$/.exec(text) ?? [];
  if (front === undefined) return undefined;
  const fields = frontMatter(front, place);
  const [id, title] = [namesIn(fields['id'])[0], namesIn(fields['title'])[0]];
  if (id === undefined || title === undefined || id === '') return undefined;
  const word = textIn(fields['status']) ?? '';
  const said = statusOf(word, words);
  const status = folderStatus === undefined || said === 'done' ? said : folderStatus;
  const people = namesIn(fields['assignee']).map((person) => person.replace(/^@/, ''));
  const priority = priorityIn(textIn(fields['priority']) ?? '') ?? 'medium';
  const idOf = (ref: string) => `${name}/${ref.toLowerCase()}`;
  const parent = namesIn(fields['parent_task_id'] ?? fields['parent'])[0];
  return {
    id: idOf(id),
    place,
    title,
    description: plainBody(body),
    status,
    priority,
    ...(people[0] !== undefined && { assignee: people[0] }),
    customFields: filled({
      labels: namesIn(fields['labels']),
      imported: filled({
        id,
        status: word,
        assignees: people,
        milestone: textIn(fields['milestone']),
        reporter: textIn(fields['reporter']),
        createdAt: textIn(fields['created_date']),
      }),
    }),
    links: [
      ...(parent === undefined || parent === '' ? [] : [{ to: idOf(parent), type: 'parent' } satisfies Link]),
      ...namesIn(fields['dependencies']).map((to): Link => ({ to: idOf(to), type: 'depends_on' })),
    ],
    comments: [],
  };
}

/** @throws PlainError for what is no YAML, and for what grows beyond the bounds when it is read */
function frontMatter(text: string, place: string): Readonly<Record<string, unknown>> {
  if (text.length > bounds.frontMatterCharactersMax)
    throw new PlainError(
      `The front matter of ${place} has more than ${bounds.frontMatterCharactersMax} characters.`,
    );
  try {
    const [document] = readDocuments(quotedNames(text));
    const value = document?.value;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    throw new PlainError(
      `${place}:${error.position.line + 1}: the front matter is no YAML: ${error.message}.`,
    );
  }
}

/** `@name` without quotes is no YAML, and yet Backlog.md of old wrote it. */
function quotedNames(text: string): string {
  return text.replaceAll(/^(\s*(?:- |assignee: ?))(@[\w.-]+)[ \t]*$/gm, "$1'$2'");
}

/** The Markdown without the markers by which Backlog.md finds its sections. */
function plainBody(body: string): string {
  return body
    .replaceAll(/^[ \t]*<!-- (?:SECTION:[A-Z_]+|AC|DOD):(?:BEGIN|END) -->[ \t]*\r?\n?/gm, '')
    .replaceAll(/\r\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
