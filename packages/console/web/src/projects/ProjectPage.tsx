import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { BatonError, etagOf, type Project } from '@baton/sdk';
import { baton } from '../client.ts';
import { Status } from '../parts/Category.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Values } from '../parts/Values.tsx';
import lines from '../parts/values.module.css';
import { Who } from '../parts/Who.tsx';
import { meQuery, workspaceQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import { Dependencies } from './Dependencies.tsx';
import { ProjectName } from './ProjectsPage.tsx';

const route = getRouteApi('/shell/projects/$id');
const tasksMax = 50;
const goalsMax = 20;

/** A project: its status and transitions, goals, newest tasks and effective configuration. */
export function ProjectPage() {
  const { id } = route.useParams();
  const query = useQuery({
    queryKey: ['projects', 'one', id],
    queryFn: ({ signal }) => baton.projects.get(id, { signal }),
    // The ETag is stored for exactly this object, so the cache must not replace the object with a copy.
    structuralSharing: false,
  });
  const workspaceId = query.data?.workspaceId ?? '';
  useTitle(useQuery({ ...workspaceQuery(workspaceId), enabled: query.isSuccess }).data?.name);
  if (query.isError)
    return (
      <div className="page">
        <ErrorNote error={query.error} onRetry={() => void query.refetch()} />
        <Link to="/projects">Back to projects</Link>
      </div>
    );
  if (query.isPending)
    return (
      <div className="page">
        <Loading lines={6} />
      </div>
    );
  const project = query.data;
  return (
    <article className="page">
      <header className="stack">
        <p className="row soft">
          <Link to="/projects">Projects</Link> <span>{project.templateKey}</span>
        </p>
        <h1 className="text">
          <ProjectName workspaceId={project.workspaceId} />
        </h1>
        <p className="row">
          <span>
            {project.statusKey.replaceAll('_', ' ')}
            {project.status === 'archived' && ' · archived'}
          </span>
          <span>
            <span className="soft">Owner</span> <Who id={project.ownerPrincipalId} />
          </span>
          {project.targetDate !== null && (
            <span className="soft">
              due <Moment at={project.targetDate} />
            </span>
          )}
          <Link to="/" search={{ workspace: project.workspaceId, view: 'board' }}>
            Board
          </Link>
        </p>
        <Transitions project={project} />
      </header>
      <Goals workspaceId={project.workspaceId} />
      <Tasks projectId={id} />
      <Dependencies projectId={id} />
      <Configuration projectId={id} version={project.version} />
      {Object.keys(project.customFields).length > 0 && (
        <section className="card stack" aria-labelledby="facts">
          <h2 id="facts">Custom fields</h2>
          <Values of={project.customFields} />
        </section>
      )}
    </article>
  );
}

/** The transitions that the lifecycle of the project's template allows. */
function Transitions({ project }: { project: Project }) {
  const queries = useQueryClient();
  const mayMove = useQuery(meQuery).data?.permissions.includes('projects.manage') ?? false;
  const template = useQuery({
    queryKey: ['projects', 'template', project.templateId],
    queryFn: ({ signal }) => baton.projectTemplates.get(project.templateId, { signal }),
    enabled: mayMove && project.status === 'active',
  });
  const move = useMutation({
    mutationFn: (statusKey: string) =>
      baton.projects.transition(project.id, { statusKey }, { ifMatch: etagOf(project) }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['projects'] }),
  });
  const { transitions = [], statuses = [] } = template.data?.lifecycleSchema ?? {};
  const targets = transitions.find(({ from }) => from === project.statusKey)?.to ?? [];
  if (targets.length === 0) return null;
  const isConflict = move.error instanceof BatonError && move.error.code === 'version_conflict';
  return (
    <div className="stack">
      <div className="row" role="group" aria-label="Project status">
        <span className="soft">Move to</span>
        {targets.map((key) => (
          <button key={key} type="button" disabled={move.isPending} onClick={() => move.mutate(key)}>
            {statuses.find((status) => status.key === key)?.displayName ?? key}
          </button>
        ))}
      </div>
      {isConflict ? (
        <p role="alert">
          Somebody changed this project in the meantime. This is the current version. Review it and try again.
        </p>
      ) : (
        move.isError && <ErrorNote error={move.error} />
      )}
    </div>
  );
}

function Goals({ workspaceId }: { workspaceId: string }) {
  const mayRead = useQuery(meQuery).data?.permissions.includes('goals.read') ?? false;
  const { data } = useQuery({
    queryKey: ['projects', 'goals', workspaceId],
    queryFn: ({ signal }) =>
      baton.goals.list({ workspaceId, limit: goalsMax }, { signal }).then(({ items }) => items),
    enabled: mayRead,
  });
  if (data === undefined || data.length === 0) return null;
  return (
    <section className="card stack" aria-labelledby="goals">
      <h2 id="goals">Goals</h2>
      <ul className="stack">
        {data.map(({ id, title, desiredState, status }) => (
          <li key={id} className="text">
            {title} <span className="soft">{status}</span>
            {desiredState !== '' && <p className="soft">{desiredState}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Tasks({ projectId }: { projectId: string }) {
  const query = useQuery({
    queryKey: ['tasks', 'of-project', projectId],
    queryFn: ({ signal }) => baton.tasks.list({ projectId, limit: tasksMax }, { signal }),
  });
  const tasks = query.data?.items ?? [];
  const done = tasks.filter(({ systemStatusCategory }) => systemStatusCategory === 'terminal_success').length;
  return (
    <section className="card stack" aria-labelledby="tasks">
      <h2 id="tasks">Tasks</h2>
      {query.isError && <ErrorNote error={query.error} />}
      {query.isSuccess && tasks.length === 0 && (
        <p className="soft">No tasks. Tasks in the project's workspace belong to the project.</p>
      )}
      {tasks.length > 0 && (
        <p className="soft">
          {done} of {query.data?.nextCursor === null ? tasks.length : `the newest ${tasks.length}`} done
        </p>
      )}
      <ul className={lines.list}>
        {tasks.map((task) => (
          <li key={task.id} className={lines.line}>
            <Link to="/tasks/$ref" params={{ ref: task.publicId }}>
              {task.title}
            </Link>
            <Status task={task} />
            <span className="soft">
              <Who id={task.assigneeId} />
            </span>
            <span className="soft">
              <Moment at={task.updatedAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Configuration({ projectId, version }: { projectId: string; version: number }) {
  const { data } = useQuery({
    queryKey: ['projects', 'config', projectId, version],
    queryFn: ({ signal }) => baton.projects.getEffectiveConfig(projectId, { signal }),
  });
  if (data === undefined) return null;
  const { governance, settings } = data.config;
  return (
    <section className="card stack" aria-labelledby="config">
      <h2 id="config">Configuration</h2>
      <Part name="Limits" of={governance} none="No limits." />
      <Part name="Settings" of={settings} none="No settings." />
    </section>
  );
}

function Part({ name, of, none }: { name: string; of: Record<string, unknown>; none: string }) {
  const isEmpty = Object.values(of).every((value) => value === null || value === '');
  return (
    <>
      <h3>{name}</h3>
      {isEmpty ? <p className="soft">{none}</p> : <Values of={of} />}
    </>
  );
}
