import { Link } from '@tanstack/react-router';
import { Empty } from '../parts/Notes.tsx';
import { StartDemo } from './Demo.tsx';
import type { WorkSearch } from './work-search.ts';

/** What to do where no task is shown. */
export function NoTasks({ search }: { search: WorkSearch }) {
  const { view, create: _create, ...filters } = search;
  if (Object.keys(filters).length > 0)
    return (
      <Empty title="No task is like this">
        <Link to="/" search={view ? { view } : {}}>
          Show all tasks
        </Link>
      </Empty>
    );
  return (
    <Empty title="There is no task yet">
      <p>
        Create one (<kbd>c</kbd>), or watch four agents share a backlog: they work in a workspace of their
        own, which you remove with one click.
      </p>
      <div className="row">
        <Link to="/" search={{ ...search, create: true }} className="button">
          Create the first task
        </Link>
        <StartDemo />
      </div>
      <p>
        In a terminal, <code className="mono">baton demo live</code> starts it too.
      </p>
    </Empty>
  );
}
