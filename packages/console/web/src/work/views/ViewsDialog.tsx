import { Dialog } from '@base-ui/react/dialog';
import { type SubmitEvent, useState } from 'react';
import dialog from '../../shell/shell.module.css';
import styles from '../work.module.css';
import type { WorkSearch } from '../work-search.ts';
import {
  isSameView,
  nameCharactersMax,
  type SavedView,
  saveView,
  storeViews,
  viewsMax,
} from './saved-views.ts';

interface ViewsDialogProps {
  readonly search: WorkSearch;
  readonly me: string | undefined;
  readonly views: readonly SavedView[];
  onClose(): void;
}

/** Saves the current filters; renames and deletes views. */
export default function ViewsDialog({ search, me, views, onClose }: ViewsDialogProps) {
  const [problem, setProblem] = useState<string>();
  const canSave = !isSameView(search, {}) && !views.some((view) => isSameView(view.search, search));

  function onSave(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const name = nameIn(event.currentTarget);
    const wrong = name === '' ? 'Enter a name.' : saveView(me, views, { name, search });
    if (wrong === undefined) onClose();
    else setProblem(wrong);
  }
  function onRename(event: SubmitEvent<HTMLFormElement>, view: SavedView) {
    event.preventDefault();
    const name = nameIn(event.currentTarget);
    if (name === '' || name === view.name) return;
    const isTaken = views.some((one) => one.name === name);
    setProblem(
      isTaken
        ? `A view named “${name}” already exists.`
        : storeViews(
            me,
            views.map((one) => (one === view ? { ...one, name } : one)),
          ),
    );
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog.overlay} />
        <Dialog.Popup className={dialog.dialog}>
          <Dialog.Title>{canSave ? 'Save view' : 'Saved views'}</Dialog.Title>
          <p className="soft">
            A view stores the filters and the layout (list or board). Views are private and stored in this
            browser, {viewsMax} at most.
          </p>
          {problem !== undefined && <p role="alert">{problem}</p>}
          {canSave && (
            <form className={styles.view} onSubmit={onSave}>
              <input
                name="name"
                aria-label="View name"
                placeholder="View name"
                maxLength={nameCharactersMax}
                required
                autoFocus
                autoComplete="off"
              />
              <button type="submit" className="primary">
                Save
              </button>
            </form>
          )}
          {views.length > 0 && (
            <ul className="stack" aria-label="Views">
              {views.map((view) => (
                <li key={view.name}>
                  <form className={styles.view} onSubmit={(event) => onRename(event, view)}>
                    <input
                      name="name"
                      aria-label={`New name for ${view.name}`}
                      defaultValue={view.name}
                      maxLength={nameCharactersMax}
                      required
                      autoComplete="off"
                    />
                    <button type="submit" aria-label={`Rename ${view.name}`}>
                      Rename
                    </button>
                    <button
                      type="button"
                      aria-label={`Delete ${view.name}`}
                      onClick={() =>
                        setProblem(
                          storeViews(
                            me,
                            views.filter((one) => one !== view),
                          ),
                        )
                      }
                    >
                      Delete
                    </button>
                  </form>
                </li>
              ))}
            </ul>
          )}
          <Dialog.Close>Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function nameIn(form: HTMLFormElement): string {
  return String(new FormData(form).get('name')).trim();
}
