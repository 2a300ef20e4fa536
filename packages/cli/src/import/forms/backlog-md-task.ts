import { readDocuments, TextFault } from '../../apply/yaml-documents.ts';
import { type LeftOut, namesIn, omitEmpty, type SourceItem, type SourceStatus, textIn } from '../source.ts';
import { findStatus, plainWord, priorityIn, type Words } from '../words.ts';
import { bodyIn } from './backlog-md-body.ts';
import type { BacklogMdConfig } from './backlog-md-config.ts';

/** A file of Backlog.md, before its ids are resolved. */
export interface BacklogMdTask {
  readonly id: string;
  readonly place: string;
  readonly item: Omit<SourceItem, 'id' | 'links'>;
  readonly parent: string | undefined;
  readonly subtasks: readonly string[];
  readonly dependencies: readonly string[];
}

interface Surroundings {
  readonly words: Words;
  readonly config: BacklogMdConfig;
  readonly folderStatus: SourceStatus | undefined;
}

const frontMatterCharactersMax = 512 * 1024;

/** Reads one file; undefined for one that is not a task, which is skipped with its reason. */
export function readBacklogMdTask(
  text: string,
  place: string,
  surroundings: Surroundings,
  leftOut: LeftOut,
): BacklogMdTask | undefined {
  const [, front, body = ''] = /^\uFEFF?---\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n([^]*))?$/.exec(text) ?? [];
  const read = front === undefined ? { fields: {} } : frontMatter(front);
  if ('fault' in read) {
    leftOut.addUnreadable(`has front matter that ${read.fault}`, place);
    return undefined;
  }
  const { fields } = read;
  const [id, title] = [namesIn(fields['id'])[0], namesIn(fields['title'])[0]];
  if (id === undefined || title === undefined || id === '') {
    leftOut.addUnreadable('has no front matter with id and title', place);
    return undefined;
  }
  return {
    id,
    place,
    item: itemOf(fields, { id, title, place, body }, surroundings),
    parent: namesIn(fields['parent_task_id'] ?? fields['parent']).find((one) => one !== ''),
    subtasks: idsIn(fields['subtasks']),
    dependencies: idsIn(fields['dependencies']),
  };
}

/** A list, or a comma-separated text. */
const idsIn = (value: unknown): string[] =>
  namesIn(value)
    .flatMap((one) => one.split(','))
    .map((one) => one.trim())
    .filter((one) => one !== '');

type Fields = Readonly<Record<string, unknown>>;

/** Fields that map to the task. */
const usedFields: ReadonlySet<string> = new Set(
  (
    'id title status assignee labels priority milestone reporter created_date parent_task_id ' +
    'parent subtasks dependencies due_date updated_date ordinal description ' +
    'implementation_plan implementation_notes final_summary comments acceptance_criteria ' +
    'definition_of_done task_schema_version'
  ).split(' '),
);

function itemOf(
  fields: Fields,
  { id, title, place, body }: { id: string; title: string; place: string; body: string },
  { words, config, folderStatus }: Surroundings,
): BacklogMdTask['item'] {
  const word = textIn(fields['status']) ?? '';
  const people = namesIn(fields['assignee']).map((person) => person.replace(/^@/, ''));
  const [dueDate] = namesIn(fields['due_date']).filter((one) => one !== '');
  const { description, comments } = bodyIn(body, fields);
  const others = Object.entries(fields).filter(([name]) => !usedFields.has(name));
  return {
    place,
    title,
    description,
    status: statusIn(word, words, config, folderStatus),
    priority: priorityIn(textIn(fields['priority']) ?? '') ?? 'medium',
    ...(people[0] !== undefined && { assignee: people[0] }),
    ...(dueDate !== undefined && { dueDate }),
    customFields: omitEmpty({
      labels: namesIn(fields['labels']),
      imported: {
        ...omitEmpty(Object.fromEntries(others.map(([name, value]) => [name, plainValue(value)]))),
        ...omitEmpty({
          id,
          status: word,
          assignees: people,
          milestone: textIn(fields['milestone']),
          reporter: textIn(fields['reporter']),
          createdAt: textIn(fields['created_date']),
        }),
      },
    }),
    comments,
  };
}

/** Returns a list or a single value; anything else as the texts in it. */
function plainValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? namesIn(value) : (value ?? undefined);
}

/** The folder takes precedence over the status, except for a task that is done. */
function statusIn(
  word: string,
  words: Words,
  { doneStatus }: BacklogMdConfig,
  folderStatus: SourceStatus | undefined,
): SourceStatus {
  const known = findStatus(word, words);
  const own = known ?? (plainWord(word) !== '' && plainWord(word) === doneStatus ? 'done' : 'open');
  return folderStatus === undefined || own === 'done' ? own : folderStatus;
}

type FrontMatter = { readonly fields: Fields } | { readonly fault: string };

/** Reads the front matter; if it is not valid YAML, once more with its single values in quotes. */
function frontMatter(text: string): FrontMatter {
  if (text.length > frontMatterCharactersMax)
    return { fault: `has more than ${frontMatterCharactersMax} characters` };
  const read = fieldsIn(quotedValues(text));
  return 'fields' in read ? read : withDefault(fieldsIn(quotedLines(text)), read);
}

const withDefault = (read: FrontMatter, fault: FrontMatter): FrontMatter => ('fields' in read ? read : fault);

function fieldsIn(text: string): FrontMatter {
  try {
    const [document] = readDocuments(text);
    const value = document?.value;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return { fields: isObject ? (value as Fields) : {} };
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    return { fault: `is not valid YAML (${error.message})` };
  }
}

const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** Quotes names with `@`, which are invalid YAML, and ids that YAML would parse as numbers: `1.10` is not `1.1`. */
function quotedValues(text: string): string {
  return text
    .replaceAll(
      /^([ \t]*(?:- |['"]?(?:assignee|reporter)['"]?: ?))(@[^\s'",[\]{}#]+)[ \t]*$/gm,
      (_, key, name) => key + quoted(name),
    )
    .replaceAll(
      /^([ \t]*- |(?:id|parent|parent_task_id): )(\d+\.[\d.]*\d)[ \t]*$/gm,
      (_, key, id) => key + quoted(id),
    )
    .replaceAll(
      /^((?:assignee|dependencies|subtasks): *)\[([^[\]'"{}#\n]*)\][ \t]*$/gm,
      (_, key: string, list: string) => {
        const values = list.split(',').map((one) => one.trim());
        return `${key}[${values
          .filter((one) => one !== '')
          .map(quoted)
          .join(', ')}]`;
      },
    );
}

/** A title with a colon and a space is invalid YAML without quotes, but people write it. */
function quotedLines(text: string): string {
  return quotedValues(text).replaceAll(
    /^([a-z_]+): +(?!['"[{|>])(\S[^\r\n]*)/gm,
    (_, key: string, value: string) => `${key}: ${quoted(value.trimEnd())}`,
  );
}
