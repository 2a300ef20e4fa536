import { invocation } from '../../../../../bin/invocation.mjs';
import { PlainError } from '../../plain-error.ts';
import { type NumberedLine, readingBounds, readJson, splitLines } from '../read-source.ts';
import {
  type ExternalName,
  LeftOut,
  type Link,
  type Priority,
  type Source,
  type SourceComment,
  type SourceItem,
  type SourceStatus,
  textIn,
} from '../source.ts';
import { priorityIn } from '../words.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The version of the export format; a later one is rejected. */
export const exportFormat = 1;

/** The exported tenant. */
export interface ExportedTenant {
  readonly id: string;
  readonly slug: string;
}

const categories: Readonly<Record<string, SourceStatus>> = {
  backlog: 'backlog',
  active: 'open',
  blocked: 'blocked',
  terminal_success: 'done',
  terminal_cancelled: 'cancelled',
};

/**
 * Reads the output of `baton export`: tasks with their relations, comments and external references. Declarations
 * (roles, types, workspaces, …) are skipped and counted: `baton apply` creates them.
 * @throws PlainError for another format, a later version, and a truncated export
 */
export function readExport(text: string, name: string): Source & { readonly tenant: ExportedTenant } {
  // Few lines of an export are tasks, and a task's line contains all its comments, so only the file's size limits the
  // number and the length of lines.
  const bounds = { linesMax: readingBounds.fileBytesMax, lineCharactersMax: readingBounds.fileBytesMax };
  const numbered = splitLines(text, name, bounds);
  const [first, last] = [numbered[0], numbered.at(-1)].map((line) => line && exportLineIn(line));
  const tenant = tenantIn(first !== undefined && 'fields' in first ? first.fields : {}, name);
  if (last === undefined || !('kind' in last) || last.kind !== 'end')
    throw new PlainError(
      `${name} is not complete: its last line is missing, so the export was truncated. Export again.`,
    );
  const leftOut = new LeftOut();
  const people = new Map<string, string>();
  const workspaces = new Map<string, { slug: string; parentId: string | null }>();
  const tasks: ExportLine[] = [];
  for (const numberedLine of numbered) {
    const line = exportLineIn(numberedLine);
    if ('fault' in line) {
      leftOut.addUnreadable(line.fault, `line ${numberedLine.number}`);
      continue;
    }
    const { kind, fields } = line;
    const value = objectIn(fields['value']);
    const id = textIn(value['id']) ?? '';
    if (kind === 'principal') people.set(id, textIn(value['displayName']) ?? id);
    if (kind === 'workspace')
      workspaces.set(id, { slug: textIn(value['slug']) ?? '', parentId: textIn(value['parentId']) ?? null });
    if (kind === 'task') tasks.push(line);
    if (tasks.length > readingBounds.itemsMax)
      throw new PlainError(`${name} has more than ${readingBounds.itemsMax} tasks.`);
    if (kind !== 'task' && kind !== 'export' && kind !== 'end')
      leftOut.add(`is a ${kind}, which an import does not create (use ${invocation()} apply)`, nameOf(value));
  }
  const known: Known = { people, pathOf: (id) => pathIn(workspaces, id) };
  const items = tasks.flatMap(({ fields, place }) => itemOf(fields, place, known, leftOut));
  leftOut.requireReadable(items, name);
  return { system: 'baton', type: 'task', items, leftOut, tenant };
}

interface ExportLine {
  readonly kind: string;
  readonly fields: Fields;
  readonly place: string;
}

function exportLineIn({ line, number }: NumberedLine): ExportLine | { readonly fault: string } {
  const read = readJson(line);
  if ('fault' in read) return read;
  const fields = objectIn(read.value);
  const { kind } = fields;
  return typeof kind === 'string'
    ? { kind, fields, place: `line ${number}` }
    : { fault: 'is not a line of an export: it has no kind' };
}

function tenantIn({ kind, format, tenant }: Fields, name: string): ExportedTenant {
  const { id, slug } = objectIn(tenant);
  if (kind !== 'export' || typeof id !== 'string')
    throw new PlainError(`${name} is not an export: ${invocation()} export writes one.`);
  if (format !== exportFormat)
    throw new PlainError(
      `${name} has format ${JSON.stringify(format)}; this version reads format ${exportFormat}.`,
    );
  return { id, slug: textIn(slug) ?? '' };
}

/** Only a string is accepted: a JSON object may have a member named toString. */
const nameOf = (value: Fields): string =>
  ['key', 'slug', 'displayName', 'name', 'id'].flatMap((member) => textIn(value[member]) ?? [])[0] ?? '';

interface Known {
  readonly people: ReadonlyMap<string, string>;
  readonly pathOf: (workspaceId: string) => string | undefined;
}

const workspacesDeepMax = 50;

function pathIn(
  workspaces: ReadonlyMap<string, { slug: string; parentId: string | null }>,
  id: string,
): string | undefined {
  const slugs: string[] = [];
  for (let at: string | null = id; at !== null; ) {
    const one: { slug: string; parentId: string | null } | undefined = workspaces.get(at);
    if (one === undefined || slugs.length > workspacesDeepMax) return undefined;
    slugs.unshift(one.slug);
    at = one.parentId;
  }
  return slugs.join('/');
}

function itemOf(fields: Fields, place: string, { people, pathOf }: Known, leftOut: LeftOut): SourceItem[] {
  const task = objectIn(fields['value']);
  const [id, title] = [task['id'], task['title']];
  if (typeof id !== 'string' || typeof title !== 'string') {
    leftOut.addUnreadable('is not a task: it has no id or no title', place);
    return [];
  }
  const category = textIn(task['systemStatusCategory']) ?? '';
  const [typeKey, statusKey] = [textIn(task['typeKey']), textIn(task['status'])];
  const workspaceId = textIn(task['workspaceId']);
  const workspace = workspaceId === undefined ? undefined : pathOf(workspaceId);
  const [dueDate, startDate] = [textIn(task['dueDate']), textIn(task['startDate'])];
  if (listIn(task['acceptance']).length > 0)
    leftOut.add('has checks of its own, which an import does not create', id);
  const names = listIn(fields['references']).flatMap(externalNameOf);
  const writable = names.filter((name) => !isProcessStep(name));
  if (writable.length < names.length)
    leftOut.add('was a step of a process, which an import does not create', id);
  const assigneeId = textIn(task['assigneeId']);
  const assignee = assigneeId === undefined ? undefined : (people.get(assigneeId) ?? assigneeId);
  const status = Object.hasOwn(categories, category) ? categories[category] : undefined;
  return [
    {
      id,
      place,
      title,
      description: textIn(task['description']) ?? '',
      status: status ?? 'open',
      priority: priorityIn(textIn(task['priority']) ?? '') ?? ('medium' satisfies Priority),
      ...(statusKey !== undefined && { statusKey }),
      ...(typeKey !== undefined && { typeKey }),
      ...(workspace !== undefined && { workspace }),
      ...(dueDate !== undefined && { dueDate }),
      ...(startDate !== undefined && { startDate }),
      ...(assignee !== undefined && { assignee }),
      customFields: objectIn(task['customFields']),
      links: listIn(fields['relations']).flatMap(linkOf),
      comments: listIn(fields['comments']).flatMap((one) => commentOf(one, people)),
      names: writable,
    },
  ];
}

const objectIn = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const listIn = (value: unknown): Fields[] => (Array.isArray(value) ? (value as unknown[]).map(objectIn) : []);

const linkTypes: readonly Link['type'][] = ['parent', 'depends_on', 'blocks', 'spawned_by', 'related_to'];

function linkOf({ type, toTaskId }: Fields): Link[] {
  const known = linkTypes.find((one) => one === type);
  return known === undefined || typeof toTaskId !== 'string' ? [] : [{ to: toTaskId, type: known }];
}

function commentOf(
  { body, authorPrincipalId, createdAt }: Fields,
  people: ReadonlyMap<string, string>,
): SourceComment[] {
  const [said, at] = [textIn(body), textIn(createdAt)];
  const author = people.get(textIn(authorPrincipalId) ?? '');
  return said === undefined
    ? []
    : [{ body: said, ...(author !== undefined && { author }), ...(at !== undefined && { at }) }];
}

function externalNameOf({ externalSystem, externalType, externalId, metadata }: Fields): ExternalName[] {
  if (![externalSystem, externalType, externalId].every((one) => typeof one === 'string')) return [];
  return [{ externalSystem, externalType, externalId, metadata: objectIn(metadata) } as ExternalName];
}

/** Whether an external reference identifies the process step of the task. Only processes may write such a reference. */
const isProcessStep = ({ externalSystem, externalType }: ExternalName): boolean =>
  externalSystem === 'control-plane' && externalType === 'process_step';
