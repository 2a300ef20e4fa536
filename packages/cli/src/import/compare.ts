import type { KnownTask } from './known-tasks.ts';
import {
  digestOfNothing,
  type FieldName,
  fieldNames,
  type PlannedComment,
  type PlannedItem,
} from './planned-item.ts';
import type { Link } from './source.ts';

/** The change of one item. */
export interface ImportChange {
  readonly item: PlannedItem;
  readonly action: 'create' | 'change' | 'unchanged';
  /** The task of an earlier import. */
  readonly known: KnownTask | undefined;
  /** Fields that have changed in the source since that import; all fields for a new task. */
  readonly fields: readonly FieldName[];
  readonly addedLinks: readonly Link[];
  readonly removedLinks: readonly Link[];
  readonly newComments: readonly PlannedComment[];
}

/**
 * Compares an item with its state at the last import, not with the task: later changes to the task by people and agents
 * remain, unless the source changed, too.
 */
export function compareItem(item: PlannedItem, known: KnownTask | undefined): ImportChange {
  const before: Omit<KnownTask, 'taskId'> = known ?? { fields: {}, links: [], comments: [] };
  // An import of an older version has not stored the fields that it didn't support.
  const unknown = before.fields['status'] === undefined ? undefined : digestOfNothing;
  const fields = fieldNames.filter((name) => item.fields[name] !== (before.fields[name] ?? unknown));
  const links = new Set(item.links.map(linkText));
  const linksBefore = new Set(before.links);
  const commentsBefore = new Set(before.comments);
  const addedLinks = item.links.filter((link) => !linksBefore.has(linkText(link)));
  const removedLinks = before.links.filter((text) => !links.has(text)).flatMap(linkOf);
  const newComments = item.comments.filter(({ key }) => !commentsBefore.has(key));
  const isSame = fields.length + addedLinks.length + removedLinks.length + newComments.length === 0;
  const action = known === undefined ? 'create' : isSame ? 'unchanged' : 'change';
  return { item, action, known, fields, addedLinks, removedLinks, newComments };
}

export const linkText = ({ type, to }: Link): string => `${type} ${to}`;

const linkTypes: readonly Link['type'][] = ['parent', 'depends_on', 'blocks', 'spawned_by', 'related_to'];

function linkOf(text: string): Link[] {
  const at = text.indexOf(' ');
  const type = linkTypes.find((one) => one === text.slice(0, at));
  return type === undefined ? [] : [{ type, to: text.slice(at + 1) }];
}
