import { Link } from '@tanstack/react-router';
import { Empty } from '../parts/Notes.tsx';
import { StartDemo, useMayStartDemo } from './Demo.tsx';
import type { WorkSearch } from './work-search.ts';

/** The empty state of the work page. */
export function NoTasks({ search }: { search: WorkSearch }) {
  const { view, create: _create, ...filters } = search;
  const mayStart = useMayStartDemo();
  if (Object.keys(filters).length > 0)
    return (
      <Empty title="No tasks match these filters">
        <Link to="/" search={view ? { view } : {}}>
          Show all tasks
        </Link>
      </Empty>
    );
  return (
    <Empty title="No tasks yet">
      <p>
        Create one (<kbd>c</kbd>)
        {mayStart &&
          ', or start the demo: four agents share a backlog in their own workspace, which you can remove with one click'}
        .
      </p>
      <div className="row">
        <Link to="/" search={{ ...search, create: true }} className="button">
          Create task
        </Link>
        <StartDemo />
      </div>
      {mayStart && (
        <p>
          You can also start it in a terminal with <code className="mono">baton demo live</code>.
        </p>
      )}
    </Empty>
  );
}
