import { isAnchor } from '@baton/process-engine/engine/anchor';
import type { Json } from '@baton/values/wire';
import type { Task } from '../../work/tasks/task.ts';

/**
 * The anchors of a task's type for one task, with placeholders replaced by the task's values. An anchor is dropped if a
 * placeholder has no value, or a value that a key can't contain. See docs/reference/definitions.md#context-schema.
 * @returns the anchors, each once, and a warning for each dropped one
 */
export function anchorsFor(
  task: Pick<Task, 'publicId' | 'workspaceId' | 'projectId' | 'customFields'>,
  templates: readonly string[],
): { anchors: string[]; warnings: string[] } {
  const filled = templates.map((template) => ({ template, anchor: filledIn(template, task) }));
  return {
    anchors: [...new Set(filled.flatMap(({ anchor }) => anchor ?? []))],
    warnings: filled
      .filter(({ anchor }) => anchor === undefined)
      .map(({ template }) => `anchor_without_value:${template}`),
  };
}

function filledIn(template: string, task: Parameters<typeof anchorsFor>[0]): string | undefined {
  let isWhole = true;
  const anchor = template.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = valueOf(name, task);
    isWhole &&= value !== undefined;
    return value ?? '';
  });
  return isWhole && isAnchor(anchor) ? anchor : undefined;
}

function valueOf(name: string, task: Parameters<typeof anchorsFor>[0]): string | undefined {
  if (!name.startsWith('customFields.'))
    return task[name as 'publicId' | 'workspaceId' | 'projectId'] ?? undefined;
  const key = name.slice('customFields.'.length);
  const value: Json | undefined = Object.hasOwn(task.customFields, key) ? task.customFields[key] : undefined;
  return ['string', 'number', 'boolean'].includes(typeof value) && value !== '' ? String(value) : undefined;
}
