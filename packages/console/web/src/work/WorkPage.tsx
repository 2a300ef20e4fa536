import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { categories } from '../parts/Category.tsx';
import { meQuery } from '../queries.ts';
import { Board } from './Board.tsx';
import { DemoBanner } from './Demo.tsx';
import { TaskList } from './TaskList.tsx';
import { EditViews, SavedTabs } from './views/SavedViews.tsx';
import styles from './work.module.css';
import { priorities, type WorkSearch } from './work-search.ts';
import { useHidden, workspacesQuery } from './workspaces.ts';

const NewTask = lazy(() => import('./NewTask.tsx'));
const route = getRouteApi('/shell/');

const typingMs = 250;

/** The tasks of the tenant as a list or a board. The URL holds the filters. */
export function WorkPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useQuery(meQuery).data?.principal.id;
  const change = (more: { [Name in keyof WorkSearch]: WorkSearch[Name] | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });

  return (
    <div className={styles.work}>
      <header className={styles.head}>
        <h1>Work</h1>
        <SearchField q={search.q} onChange={(q) => change({ q })} />
        {/* The board has a column for each status. */}
        {search.view !== 'board' && (
          <label>
            <span className="visually-hidden">Status</span>
            <select
              value={search.category ?? ''}
              onChange={({ target }) =>
                change({ category: (target.value || undefined) as WorkSearch['category'] })
              }
            >
              <option value="">Any status</option>
              {categories.map(([name, words]) => (
                <option key={name} value={name}>
                  {words}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          <span className="visually-hidden">Priority</span>
          <select
            value={search.priority ?? ''}
            onChange={({ target }) =>
              change({ priority: (target.value || undefined) as WorkSearch['priority'] })
            }
          >
            <option value="">Any priority</option>
            {priorities.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <WorkspaceFilter
          workspace={search.workspace}
          onChange={(workspace) => change({ workspace, archived: undefined })}
        />
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={search.assignee === 'me'}
            onChange={({ target }) => change({ assignee: target.checked ? 'me' : undefined })}
          />
          Mine
        </label>
        <SavedTabs me={me} />
        <div className={styles.right}>
          <EditViews search={search} me={me} />
          <div className={styles.views} role="group" aria-label="View">
            <button
              type="button"
              aria-pressed={search.view === undefined}
              onClick={() => change({ view: undefined })}
            >
              List
            </button>
            <button
              type="button"
              aria-pressed={search.view === 'board'}
              onClick={() => change({ view: 'board' })}
            >
              Board
            </button>
          </div>
          <button
            type="button"
            className="primary"
            onClick={() => change({ create: true })}
            aria-keyshortcuts="c"
          >
            New task
          </button>
        </div>
      </header>
      <div>
        <DemoBanner search={search} />
        <Hidden search={search} />
      </div>
      {search.view === 'board' ? <Board search={search} me={me} /> : <TaskList search={search} me={me} />}
      <Suspense>
        {search.create && (
          <NewTask workspace={search.workspace} onClose={() => change({ create: undefined })} />
        )}
      </Suspense>
    </div>
  );
}

/** Filters by workspace. Hidden if no workspaces exist. */
function WorkspaceFilter({
  workspace = '',
  onChange,
}: {
  workspace: string | undefined;
  onChange: (workspace: string | undefined) => void;
}) {
  const { data = [] } = useQuery(workspacesQuery);
  const choice = data.filter(({ id, status }) => status === 'active' || id === workspace);
  if (choice.length === 0) return null;
  return (
    <label>
      <span className="visually-hidden">Workspace</span>
      <select
        className={styles.workspace}
        value={workspace}
        onChange={({ target }) => onChange(target.value || undefined)}
      >
        <option value="">Any workspace</option>
        {workspace !== '' && !choice.some(({ id }) => id === workspace) && (
          <option value={workspace}>Current workspace</option>
        )}
        {choice.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A note that tasks of archived workspaces are hidden, with a link to show them. */
function Hidden({ search }: { search: WorkSearch }) {
  const hidden = useHidden(search);
  if (hidden.size === 0) return null;
  return (
    <p className={`soft ${styles.hidden}`}>
      Tasks of {hidden.size === 1 ? 'one archived workspace' : `${hidden.size} archived workspaces`} are
      hidden.{' '}
      <Link to="/" search={{ ...search, archived: true }}>
        Show
      </Link>
    </p>
  );
}

/** Searches as the person types, 250 ms after the last keystroke. */
function SearchField({
  q = '',
  onChange,
}: {
  q: string | undefined;
  onChange: (q: string | undefined) => void;
}) {
  const [text, setText] = useState(q);
  const report = useRef(onChange);
  report.current = onChange;
  const reported = useRef(q);
  useEffect(() => {
    if (q === reported.current) return;
    // The value was changed elsewhere, for example by a link. A value that the field itself reported must not overwrite
    // newer input.
    reported.current = q;
    setText(q);
  }, [q]);
  useEffect(() => {
    if (text.trim() === reported.current) return;
    const timer = setTimeout(() => {
      reported.current = text.trim();
      report.current(text.trim() || undefined);
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      id="task-search"
      type="search"
      className={styles.search}
      aria-label="Search tasks"
      placeholder="Search  /"
      maxLength={200}
      value={text}
      onChange={({ target }) => setText(target.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Escape' || key === 'Enter') currentTarget.blur();
      }}
    />
  );
}
