import { exitCodes } from '../../error-text.ts';
import { PlainError } from '../../plain-error.ts';
import { visible } from '../read-source.ts';
import { plainWord } from '../words.ts';

/**
 * The fields that columns can hold, each with the headers that identify it without a mapping: normalized by
 * `plainWord`, in order of preference.
 */
const guesses = {
  id:
    'id|key|issue key|work item key|issue id|work item id|task id|taskid|card id|' +
    'task custom id|custom task id|custom id|number|nr|no|uuid',
  title: 'title|summary|name|subject|task name|card name|task',
  description: 'description|body|details|notes|card description|task content|task description|content',
  status: 'status|state|list|list name|column|sectioncolumn',
  priority: 'priority|prio|severity',
  labels: 'labels|label|tags|tag',
  assignee: 'assignee|assigned to|owner|assignees|responsible|members|assign|person',
  due: 'due|due date|deadline|due on',
  start: 'start|start date|start on|defer until|custom field start date',
  parent:
    'parent|parent id|parentid|parent key|parent task|parent issue|parent item|parent iid|' +
    'custom field epic link|epic link|epic',
  children: 'sub-item|sub-items|sub-task|sub-tasks|subtask ids|subtasks ids',
  depends_on:
    'depends on|dependencies|blocked by|is blocked by|blocked by dependencies|waiting on|' +
    'inward issue link blocks|inward work item link blocks',
  blocks:
    'blocking|blocks|is blocking|blocking dependencies|blocking dependents|' +
    'outward issue link blocks|outward work item link blocks',
  related_to: 'related to|relates to|related|related issues|duplicate of',
  type: 'type|issue type|work type|task type|tracker|kind',
  url: 'url|link|address|card url|task link',
  resolution: 'resolution',
  category: 'status category',
  completed:
    'completed|completed at|completed on|completed date|completed time|completion date|' +
    'date completed|complete|done|is done|date done|finished|due complete|resolved|' +
    'resolved at|resolution date|closed|closed at|closed at utc|closed on|closed date|date closed',
  cancelled:
    'canceled|cancelled|canceled at|cancelled at|canceled date|cancelled date|date canceled|date cancelled',
  archived: 'archived|is archived|is_archived|archived at',
} as const;

export type CsvField = keyof typeof guesses;
const fieldNames = Object.keys(guesses) as CsvField[];
/** Fields that take the values of all columns with one header. */
const severalFields: readonly CsvField[] = [
  'labels',
  'parent',
  'children',
  'depends_on',
  'blocks',
  'related_to',
];
/**
 * Fields for which every matching column is read: a row has several ids, and several relations.
 */
const everyFields: readonly CsvField[] = [
  ...(['id', 'parent', 'children', 'depends_on', 'blocks', 'related_to'] as const),
  ...(['completed', 'cancelled'] as const),
];
/** Fields whose columns remain custom fields, because tasks don't have them. */
const unusedFields: readonly CsvField[] = [
  ...(['children', 'blocks', 'resolution', 'category', 'completed', 'cancelled', 'archived'] as const),
];

/** Each field's columns, in the order of preference. */
export type CsvColumns = Partial<Record<CsvField, readonly number[]>>;

/** Jira's relations have their kind in the header: `Inward issue link (Relates)`. */
const jiraLink = /^(?:inward|outward) (?:issue|work item) link (?!blocks$).{1,60}$/;

/**
 * Finds the columns of a table.
 * @param map as `title=Summary,id=Issue key,id=Issue id`; a field without a column has none
 * @throws PlainError for a mapping to a missing column, and if there is no title column
 */
export function csvColumns(header: readonly string[], map = ''): CsvColumns {
  const named = mappedColumns(header, map);
  const plain = header.map(plainHeader);
  const taken = new Set([...named.values()].flat());
  const columns: CsvColumns = {};
  for (const field of fieldNames) {
    const found = named.get(field) ?? guessedColumns(field, plain, taken);
    for (const at of found) taken.add(at);
    const all = severalFields.includes(field) ? found.flatMap((at) => columnsLike(header, at)) : found;
    if (all.length > 0) columns[field] = [...new Set(all)];
  }
  if (columns.title === undefined)
    throw usage(
      `No title column was detected: select one with --map title=…; the columns are: ${header.join(', ')}.`,
    );
  return columns;
}

/** The positions of the columns that a field of the task uses. */
export function usedColumns(columns: CsvColumns): Set<number> {
  const used = fieldNames.filter((field) => !unusedFields.includes(field));
  // If there are several ids, one identifies the task; if there are several parents, one is used.
  const isFirst = (field: CsvField) => field === 'id' || field === 'parent';
  return new Set(
    used.flatMap((field) => (isFirst(field) ? columns[field]?.slice(0, 1) : columns[field]) ?? []),
  );
}

/** Whether a row may be the header of a table of tasks. */
export function isTaskHeader(cells: readonly string[], map = ''): boolean {
  try {
    return (
      csvColumns(
        cells.map((cell) => cell.trim()),
        map,
      ).title !== undefined
    );
  } catch {
    return false;
  }
}

const usage = (text: string) => new PlainError(visible(text), { exitCode: exitCodes.usage });

function mappedColumns(header: readonly string[], map: string): Map<CsvField, number[]> {
  const plain = header.map(plainHeader);
  const named = new Map<CsvField, number[]>();
  for (const part of map.split(',').filter((one) => one.trim() !== '')) {
    const [, name = '', column = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    const field = fieldNames.find((one) => one === name);
    if (field === undefined)
      throw usage(`--map has no field ${name || part.trim()}; valid fields: ${fieldNames.join(', ')}.`);
    const exact = header.indexOf(column);
    const at = exact === -1 ? plain.indexOf(plainHeader(column)) : exact;
    if (at === -1 && column !== '')
      throw usage(`--map has no column ${column}; valid columns: ${header.join(', ')}.`);
    named.set(field, [...(named.get(field) ?? []), ...(at === -1 ? [] : [at])]);
  }
  return named;
}

function guessedColumns(field: CsvField, plain: readonly string[], taken: ReadonlySet<number>): number[] {
  const found = guesses[field]
    .split('|')
    .map((guess) => plain.indexOf(guess))
    .filter((at) => at !== -1 && !taken.has(at));
  const own = everyFields.includes(field) ? found : found.slice(0, 1);
  if (field !== 'related_to') return own;
  return [...own, ...plain.flatMap((header, at) => (jiraLink.test(header) && !taken.has(at) ? at : []))];
}

/** `#` is the id of Redmine, and `% Done` doesn't mean completion. */
function plainHeader(header: string): string {
  if (header.trim() === '#') return 'id';
  return header.includes('%') ? header.trim() : plainWord(header);
}

/** Trackers write a column for each label, all with one header. */
function columnsLike(header: readonly string[], at: number): number[] {
  return header.flatMap((name, other) => (name === header[at] ? other : []));
}
