import { Dialog } from '@base-ui/react/dialog';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useId, useState } from 'react';
import { BatonError, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { MarkdownField } from '../markdown/MarkdownField.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { taskQuery, versionOf } from '../queries.ts';
import dialog from '../shell/shell.module.css';
import { priorities } from '../work/work-search.ts';
import { Conflict } from './Conflict.tsx';
import { fenceOf } from './holds.ts';

const principalsMax = 200;

interface EditTaskProps {
  readonly task: Task;
  /** The field that gets the focus. */
  readonly first: 'title' | 'assignee';
  onClose(): void;
}

/** Edits the fields of a task. Only changed fields are sent. */
export default function EditTask({ task, first, onClose }: EditTaskProps) {
  const id = useId();
  // Changes are compared with the task as it was when the form was opened: a concurrent change by somebody else is not
  // a change of this form, so it is not sent back.
  const [opened] = useState(task);
  const [description, setDescription] = useState(task.description);
  const queries = useQueryClient();
  const key = taskQuery(task.publicId).queryKey;
  const people = useQuery({
    queryKey: ['principals', 'choice'],
    queryFn: ({ signal }) =>
      baton.principals.list({ limit: principalsMax }, { signal }).then(({ items }) => items),
    staleTime: 60_000,
  });
  const change = useMutation({
    mutationFn: (fields: Partial<Fields>) =>
      baton.tasks.update(task.id, { ...fields, ...fenceOf(task.id) }, { ifMatch: versionOf(task) }),
    onMutate: (fields) => {
      queries.setQueryData(key, { ...task, ...(fields as Partial<Task>) });
    },
    onError: () => queries.setQueryData(key, task),
    onSuccess: (changed) => {
      queries.setQueryData(key, changed);
      onClose();
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['tasks'] }),
  });
  const isConflict = change.error instanceof BatonError && change.error.code === 'version_conflict';
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const given: Fields = {
      title: String(form.get('title')).trim(),
      description,
      priority: String(form.get('priority')),
      assigneeId: String(form.get('assignee')) || null,
    };
    const names = Object.keys(given) as (keyof Fields)[];
    const changed = Object.fromEntries(
      names.filter((name) => given[name] !== opened[name]).map((name) => [name, given[name]]),
    );
    if (Object.keys(changed).length === 0) return onClose();
    change.mutate(changed);
  }
  const choice = (people.data ?? []).filter(
    ({ status, id: one }) => status === 'active' || one === task.assigneeId,
  );
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog.overlay} />
        <Dialog.Popup className={dialog.dialog}>
          <Dialog.Title>Edit {task.publicId}</Dialog.Title>
          <form className="stack" onSubmit={onSubmit}>
            <label className="stack" htmlFor={`${id}-title`}>
              Title
              <input
                id={`${id}-title`}
                name="title"
                defaultValue={task.title}
                maxLength={500}
                required
                autoFocus={first === 'title'}
                autoComplete="off"
              />
            </label>
            <MarkdownField
              label="Description"
              rows={6}
              value={description}
              onChange={setDescription}
              maxLength={20_000}
            />
            <label className="stack" htmlFor={`${id}-priority`}>
              Priority
              <select id={`${id}-priority`} name="priority" defaultValue={task.priority}>
                {priorities.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <label className="stack" htmlFor={`${id}-assignee`}>
              Assignee {/* Recreated when the names have loaded: a select drops a value without an option. */}
              <select
                key={people.isSuccess ? 'names' : 'none'}
                id={`${id}-assignee`}
                name="assignee"
                defaultValue={task.assigneeId ?? ''}
                autoFocus={first === 'assignee'}
                aria-describedby={`${id}-given`}
              >
                <option value="">Unassigned</option>
                {task.assigneeId !== null && !choice.some(({ id: one }) => one === task.assigneeId) && (
                  <option value={task.assigneeId}>Current assignee</option>
                )}
                {choice.map(({ id: one, displayName, kind }) => (
                  <option key={one} value={one}>
                    {displayName} ({kind})
                  </option>
                ))}
              </select>
            </label>
            <p id={`${id}-given`} className="soft">
              Baton offers an assigned task to its assignee only.
              {people.data?.length === principalsMax && ` Only the newest ${principalsMax} are listed.`}
            </p>
            {isConflict ? <Conflict task={task} /> : change.isError && <ErrorNote error={change.error} />}
            <div className="row">
              <button type="submit" className="primary" disabled={change.isPending}>
                {change.isPending ? 'Saving …' : 'Save'}
              </button>
              <Dialog.Close>Cancel</Dialog.Close>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface Fields {
  readonly title: string;
  readonly description: string;
  readonly priority: string;
  readonly assigneeId: string | null;
}
