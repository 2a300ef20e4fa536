import { exitCodes } from '../../error-text.ts';
import { PlainError } from '../../plain-error.ts';
import { visible } from '../reading.ts';
import {
  filled,
  LeftOut,
  type Link,
  plainWord,
  priorityIn,
  type Source,
  type SourceItem,
  statusOf,
  type Words,
} from '../source.ts';
import { readCsv, type Table } from './csv-text.ts';

/** What a column can be, and the headers that are taken for it where no mapping names one. */
const guesses = {
  id: ['id', 'key', 'issue key', 'issue id', 'task id', 'card id', 'number', 'nr', 'no'],
  title: ['title', 'summary', 'name', 'subject', 'task name', 'card name', 'task'],
  description: ['description', 'body', 'details', 'notes', 'card description'],
  status: ['status', 'state', 'list', 'list name', 'column', 'section/column'],
  priority: ['priority', 'prio', 'severity'],
  labels: ['labels', 'label', 'tags', 'tag'],
  assignee: ['assignee', 'assigned to', 'owner', 'assignees', 'responsible'],
  due: ['due', 'due date', 'deadline'],
  parent: ['parent', 'parent id', 'parent task', 'parent issue', 'epic'],
  depends_on: ['depends on', 'dependencies', 'blocked by', 'is blocked by'],
  related_to: ['related to', 'relates to', 'related'],
  type: ['type', 'issue type'],
  url: ['url', 'link', 'address'],
} as const;

type Field = keyof typeof guesses;
const fieldNames = Object.keys(guesses) as Field[];
/** Fields that may have several values. */
const severalFields: readonly Field[] = ['labels', 'parent', 'depends_on', 'related_to'];
/** Where each field stands; a field that may have several values may stand in several columns. */
type Columns = Partial<Record<Field, readonly number[]>>;

export interface CsvOptions {
  /** As `title=Summary,status=State`. */
  readonly map?: string;
  readonly delimiter?: string;
  /** What the ids belong to. */
  readonly source: string;
}

/**
 * Reads comma-separated values with a header; columns that mean nothing here become custom fields.
 * @throws PlainError for a mapping that names no column, for no title, and as `readCsv`
 */
export function readCsvTasks(text: string, name: string, words: Words, options: CsvOptions): Source {
  const table = readCsv(text, name, options.delimiter);
  const columns = columnsOf(table.header, options.map);
  const leftOut = new LeftOut();
  const hasNamelessValues = table.header.some(
    (header, at) => header === '' && table.rows.some(({ cells }) => cells[at]?.trim() !== ''),
  );
  if (hasNamelessValues) leftOut.add('has a column without a header', name);
  if (columns.id === undefined) leftOut.add('has no column with an id: rows are known by their title', name);
  const items: SourceItem[] = [];
  const seen = new Set<string>();
  for (const row of table.rows) {
    const cell = (field: Field) => row.cells[columns[field]?.[0] ?? -1]?.trim() ?? '';
    const cells = (field: Field) => columns[field]?.flatMap((at) => listIn(row.cells[at] ?? '')) ?? [];
    const own = cell(columns.id === undefined ? 'title' : 'id');
    const place = `line ${row.line}`;
    if (own === '') leftOut.add('has neither id nor title', place);
    else if (seen.has(own)) leftOut.add('repeats an id', `${own}, ${place}`);
    else {
      seen.add(own);
      items.push(
        itemOf({ own, place, cell, cells, row, table, columns, words, source: options.source, leftOut }),
      );
    }
  }
  if (items.length === 0) throw new PlainError(`${name} has no rows.`);
  return { system: 'csv', type: 'row', items, leftOut };
}

interface Row {
  readonly own: string;
  readonly place: string;
  readonly cell: (field: Field) => string;
  /** The values of a field that may have several. */
  readonly cells: (field: Field) => readonly string[];
  readonly row: Table['rows'][number];
  readonly table: Table;
  readonly columns: Columns;
  readonly words: Words;
  readonly source: string;
  readonly leftOut: LeftOut;
}

function itemOf({ own, place, cell, cells, row, table, columns, words, source, leftOut }: Row): SourceItem {
  const idOf = (id: string) => `${source}/${id}`;
  const linksTo = (field: Field, type: Link['type']): Link[] =>
    cells(field).map((to) => ({ to: idOf(to), type }));
  if (cells('parent').length > 1) leftOut.add('has several parents: the first one is taken', own);
  const assignee = cell('assignee');
  const dueDate = instantOf(cell('due'));
  if (cell('due') !== '' && dueDate === undefined)
    leftOut.add('has a due date of another form than 2026-12-24', `${own}: ${cell('due')}`);
  const named = filled({
    id: own,
    type: cell('type'),
    status: cell('status'),
    url: cell('url'),
    assignee,
  });
  return {
    id: idOf(own),
    place,
    title: cell('title'),
    description: cell('description'),
    status: statusOf(cell('status'), words),
    priority: priorityIn(cell('priority')) ?? 'medium',
    ...(assignee !== '' && { assignee }),
    ...(dueDate !== undefined && { dueDate }),
    customFields: filled({
      labels: cells('labels'),
      imported: { ...othersOf(row, table, columns, named), ...named },
    }),
    links: [
      ...linksTo('parent', 'parent').slice(0, 1),
      ...linksTo('depends_on', 'depends_on'),
      ...linksTo('related_to', 'related_to'),
    ],
    comments: [],
  };
}

/** What stands in columns that mean nothing here, by their headers; a header that several have has a list. */
function othersOf(
  { cells }: Table['rows'][number],
  { header }: Table,
  columns: Columns,
  named: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const used = new Set(Object.values(columns).flat());
  const values = new Map<string, string[]>();
  header.forEach((name, at) => {
    const value = cells[at] ?? '';
    if (used.has(at) || name === '' || value === '') return;
    const key = Object.hasOwn(named, name) ? `${name} (column)` : name;
    values.set(key, [...(values.get(key) ?? []), value]);
  });
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}

/** Several values of a cell are apart by commas, semicolons or line breaks. */
const listIn = (cell: string): string[] =>
  cell
    .split(/[,;\n]/)
    .map((one) => one.trim())
    .filter((one) => one !== '');

function instantOf(text: string): string | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) return `${text}T00:00:00Z`;
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))
    ? new Date(text).toISOString()
    : undefined;
}

function columnsOf(header: readonly string[], map: string | undefined): Columns {
  const usage = (text: string) => new PlainError(visible(text), { exitCode: exitCodes.usage });
  const plain = header.map(plainWord);
  const columns: Partial<Record<Field, number>> = {};
  for (const part of (map ?? '').split(',').filter((one) => one.trim() !== '')) {
    const [, field = '', column = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    if (!fieldNames.includes(field as Field))
      throw usage(`--map knows no field ${field || part.trim()}; there are: ${fieldNames.join(', ')}.`);
    const at = header.indexOf(column) === -1 ? plain.indexOf(plainWord(column)) : header.indexOf(column);
    if (at === -1 && column !== '')
      throw usage(`--map names no column ${column}; there are: ${header.join(', ')}.`);
    columns[field as Field] = at;
  }
  const taken = new Set(Object.values(columns));
  for (const field of fieldNames) {
    if (columns[field] !== undefined) continue;
    const at = guesses[field]
      .map((guess) => plain.indexOf(guess))
      .find((one) => one !== -1 && !taken.has(one));
    if (at === undefined) continue;
    columns[field] = at;
    taken.add(at);
  }
  for (const field of fieldNames) if (columns[field] === -1) delete columns[field];
  if (columns.title === undefined)
    throw usage(`No column is the title: name it by --map title=…; there are: ${header.join(', ')}.`);
  return Object.fromEntries(
    Object.entries(columns).map(([field, at]) => [field, columnsLike(header, at, field as Field)]),
  );
}

/** Trackers write a column for each label, all with one header. */
function columnsLike(header: readonly string[], at: number, field: Field): number[] {
  if (!severalFields.includes(field)) return [at];
  return header.flatMap((name, other) => (name === header[at] ? other : []));
}
