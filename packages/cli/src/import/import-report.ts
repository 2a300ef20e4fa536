import { counted } from '@baton/values/counted';
import type { ImportChange } from './compare.ts';
import { visible } from './read-source.ts';
import type { ImportPlan, ImportResult } from './run-import.ts';

const changesShownMax = 20;
const failuresShownMax = 10;
const marks = { create: '+', change: '~', unchanged: '=' } as const;

/** The plan for people: new and changed tasks, then the counts, then the skipped items. */
export function planLines({ source, changes, begun }: ImportPlan): string[] {
  const writing = changes.filter(({ action }) => action !== 'unchanged');
  const count = (action: ImportChange['action']) => changes.filter((one) => one.action === action).length;
  const sum = (of: (change: ImportChange) => number) => writing.reduce((total, one) => total + of(one), 0);
  const relations = sum(({ addedLinks, removedLinks }) => addedLinks.length + removedLinks.length);
  const comments = sum(({ newComments }) => newComments.length);
  return [
    ...writing.slice(0, changesShownMax).map(changeLine),
    ...(writing.length > changesShownMax ? [`  and ${writing.length - changesShownMax} more`] : []),
    ...source.leftOut.lines.map(visible),
    ...(begun > 0 ? [`${begun} of those to change are from an interrupted import.`] : []),
    `${count('create')} to create, ${count('change')} to change, ${count('unchanged')} unchanged; ${counted(relations, 'relation')} and ${counted(comments, 'comment')} to write.`,
  ];
}

function changeLine({ item, action, fields, addedLinks, removedLinks, newComments }: ImportChange): string {
  const what = [
    ...fields,
    ...(addedLinks.length + removedLinks.length > 0 ? ['relations'] : []),
    ...(newComments.length > 0 ? ['comments'] : []),
  ];
  const behind = action === 'create' ? item.status : what.join(', ');
  return visible(`${marks[action]} ${action}  ${item.id}  ${item.title.slice(0, 80)}  (${behind})`);
}

/** The summary for people. */
export function resultLines({ created, changed, failed, leftOut, seconds }: ImportResult): string[] {
  return [
    ...[...failed].slice(0, failuresShownMax).map(([id, why]) => visible(`✘ ${id}: ${why}`)),
    ...(failed.size > failuresShownMax ? [`  and ${failed.size - failuresShownMax} more`] : []),
    ...leftOut.lines.map(visible),
    `${created} created and ${changed} changed in ${seconds} s${failed.size === 0 ? '.' : `; ${failed.size} failed: run it again when the problem is fixed; existing tasks are not created twice.`}`,
  ];
}

/** The summary for programs. */
export function resultItems({ source, changes }: ImportPlan, result: ImportResult | undefined): object {
  return {
    items: changes.map(({ item, action, fields, known }) => ({
      externalId: item.id,
      action,
      fields,
      taskId: result?.taskIds.get(item.id) ?? known?.taskId ?? null,
      failure: result?.failed.get(item.id) ?? null,
    })),
    system: source.system,
    leftOut: [...source.leftOut.items, ...(result?.leftOut.items ?? [])],
    applied: result !== undefined,
    created: result?.created ?? 0,
    changed: result?.changed ?? 0,
    seconds: result?.seconds ?? 0,
  };
}
