import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import styles from '../work.module.css';
import type { WorkSearch } from '../work-search.ts';
import { isSameView, useSavedViews } from './saved-views.ts';

const ViewsDialog = lazy(() => import('./ViewsDialog.tsx'));

interface SavedViewsProps {
  readonly search: WorkSearch;
  readonly me: string | undefined;
}

/** Tabs for saved views. Hidden if none exist. */
export function SavedTabs({ me }: Pick<SavedViewsProps, 'me'>) {
  const views = useSavedViews(me);
  if (views.length === 0) return null;
  return (
    <nav aria-label="Saved views" className={styles.tabs}>
      <Link to="/" search={{}} className={styles.tab} activeOptions={{ exact: true }}>
        All
      </Link>
      {views.map((view) => (
        <Link
          key={view.name}
          to="/"
          search={view.search}
          className={styles.tab}
          title={view.name}
          activeOptions={{ exact: true }}
        >
          {view.name}
        </Link>
      ))}
    </nav>
  );
}

/** The button that saves the current filters or edits saved views. Hidden if there are neither filters nor views. */
export function EditViews({ search, me }: SavedViewsProps) {
  const views = useSavedViews(me);
  const [isOpen, setOpen] = useState(false);
  const isPlain = isSameView(search, {});
  const isSaved = views.some((view) => isSameView(view.search, search));
  if (views.length === 0 && isPlain) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {isPlain || isSaved ? 'Edit views' : 'Save view'}
      </button>
      <Suspense>
        {isOpen && <ViewsDialog search={search} me={me} views={views} onClose={() => setOpen(false)} />}
      </Suspense>
    </>
  );
}
