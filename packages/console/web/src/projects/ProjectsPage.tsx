import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { baton } from '../client.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import lines from '../parts/values.module.css';
import { Who } from '../parts/Who.tsx';
import { workspaceQuery } from '../queries.ts';

const pageSize = 50;

/** The visible projects with their status and owner. */
export function ProjectsPage() {
  useLineKeys();
  return (
    <div className="page">
      <h1>Projects</h1>
      <Allowed permission="projects.read">
        <Projects />
      </Allowed>
    </div>
  );
}

function Projects() {
  const query = useInfiniteQuery({
    queryKey: ['projects', 'list'],
    queryFn: ({ pageParam, signal }) =>
      baton.projects.list({ limit: pageSize, ...(pageParam && { cursor: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  if (query.isError) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading lines={5} />;
  if (query.data.length === 0)
    return (
      <Empty title="No projects yet">
        <p>
          A project gives the work of a workspace a status, an owner and its own rules. Create one from a file
          with <code className="mono">baton apply -f project.yaml</code>.
        </p>
      </Empty>
    );
  return (
    <div className="card stack">
      <ul className={lines.list}>
        {query.data.map(({ id, workspaceId, statusKey, status, ownerPrincipalId, updatedAt }) => (
          <li key={id} className={lines.line}>
            <Link to="/projects/$id" params={{ id }}>
              <ProjectName workspaceId={workspaceId} />
            </Link>
            <span>
              {statusKey.replaceAll('_', ' ')}
              {status === 'archived' && ' · archived'}
            </span>
            <span className="soft">
              <Who id={ownerPrincipalId} nobody="No owner" />
            </span>
            <span className="soft">
              <Moment at={updatedAt} />
            </span>
          </li>
        ))}
      </ul>
      <ShowMore query={query} />
    </div>
  );
}

/** The name of a project, which is that of its workspace. */
export function ProjectName({ workspaceId }: { workspaceId: string }) {
  const { data } = useQuery(workspaceQuery(workspaceId));
  return <>{data?.name ?? `Project of workspace ${workspaceId.slice(-8)}`}</>;
}
