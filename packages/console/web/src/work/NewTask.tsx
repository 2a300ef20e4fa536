import { Dialog } from '@base-ui/react/dialog';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useId, useState } from 'react';
import { baton } from '../client.ts';
import { MarkdownField } from '../markdown/MarkdownField.tsx';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { workspaceQuery } from '../queries.ts';
import dialog from '../shell/shell.module.css';
import { type Priority, priorities } from './work-search.ts';
import { workspacesQuery } from './workspaces.ts';

interface NewTaskProps {
  /** The workspace that is shown, preselected for the new task. */
  readonly workspace: string | undefined;
  onClose(): void;
}

/** Creates a task and opens it. A second click or a retry after a lost response creates no second task. */
export default function NewTask({ workspace = '', onClose }: NewTaskProps) {
  const [chosen, setChosen] = useState(workspace);
  const [description, setDescription] = useState('');
  const newest = useQuery(workspacesQuery);
  const workspaces = (newest.data ?? []).filter(({ status }) => status === 'active');
  // A selected workspace that is archived, or older than those that were loaded. It needs its own option, or the task
  // would get no workspace.
  const isOther = chosen !== '' && !workspaces.some(({ id }) => id === chosen);
  const other = useQuery({ ...workspaceQuery(chosen), enabled: isOther && !newest.isPending });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const id = useId();
  const keys = useIdempotencyKeys();
  const create = useMutation({
    mutationFn: (body: NewTaskFields) => baton.tasks.create(body, { idempotencyKey: keys.of(body) }),
    onSuccess: async (task) => {
      void queries.invalidateQueries({ queryKey: ['tasks'] });
      await navigate({ to: '/tasks/$ref', params: { ref: task.publicId } });
    },
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    create.mutate({
      title: String(form.get('title')).trim(),
      description,
      priority: form.get('priority') as Priority,
      workspaceId: chosen || null,
    });
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog.overlay} />
        <Dialog.Popup className={dialog.dialog}>
          <Dialog.Title>New task</Dialog.Title>
          <form className="stack" onSubmit={onSubmit}>
            <label className="stack" htmlFor={`${id}-title`}>
              Title
              <input id={`${id}-title`} name="title" maxLength={500} required autoFocus autoComplete="off" />
            </label>
            <MarkdownField
              label="Description"
              rows={5}
              value={description}
              onChange={setDescription}
              maxLength={20_000}
            />
            <label className="stack" htmlFor={`${id}-priority`}>
              Priority
              <select id={`${id}-priority`} name="priority" defaultValue="medium">
                {priorities.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            {(workspaces.length > 0 || isOther) && (
              <label className="stack" htmlFor={`${id}-workspace`}>
                Workspace
                <select
                  id={`${id}-workspace`}
                  value={chosen}
                  onChange={({ target }) => setChosen(target.value)}
                >
                  <option value="">None</option>
                  {isOther && <option value={chosen}>{other.data?.name ?? 'Current workspace'}</option>}
                  {workspaces.map(({ id: one, name }) => (
                    <option key={one} value={one}>
                      {name}
                    </option>
                  ))}
                </select>
              </label>
            )}
            {create.isError && <ErrorNote error={create.error} />}
            <div className="row">
              <button type="submit" className="primary" disabled={create.isPending}>
                {create.isPending ? 'Creating …' : 'Create'}
              </button>
              <Dialog.Close>Cancel</Dialog.Close>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface NewTaskFields {
  readonly title: string;
  readonly description: string;
  readonly priority: Priority;
  readonly workspaceId: string | null;
}
